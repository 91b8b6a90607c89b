/** IPC messages between the server and a process that decodes single frames of the videos of one user. */
import { type Static, Type } from "typebox";

export const THUMBNAIL_PROTOCOL = 1;

/** Answered with a `Thumbnail`; rejected with why no frame can be decoded. */
export const ThumbnailRequest = Type.Object({
  type: Type.Literal("thumbnail"),
  id: Type.Integer({ minimum: 1 }),
  path: Type.String({ minLength: 1 }),
  /** Of the frame in the video. */
  atNs: Type.String({ pattern: "^\\d{1,18}$" }),
  /** The video begins with the keyframe before the frame, and `atNs` is not after the frame: it is decoded from its start. */
  isPart: Type.Boolean(),
  width: Type.Integer({ minimum: 2, maximum: 4096 }),
});
export type ThumbnailRequest = Static<typeof ThumbnailRequest>;

export const Thumbnail = Type.Object({ jpeg: Type.String({ contentEncoding: "base64" }) });
export type Thumbnail = Static<typeof Thumbnail>;
