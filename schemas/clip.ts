/**
 * What the server and the child that publishes the clip of the demo tell each other, as JSON over the channel of `fork`.
 * Both check every message.
 */
import { type Static, Type } from "typebox";

export const CLIP_PROTOCOL = 2;

/** The one thing that it is told. */
export const ClipRequest = Type.Object({
  type: Type.Literal("publish"),
  /** With the right to publish there: never to be shown. */
  url: Type.String({ maxLength: 2000 }),
  /** A video file; null for the street. */
  file: Type.Union([Type.String({ maxLength: 4096 }), Type.Null()]),
});
export type ClipRequest = Static<typeof ClipRequest>;

/** `connecting`: there is a clip, and the hub has yet to accept it. */
export const ClipStage = Type.Union([
  Type.Literal("fetching"),
  Type.Literal("converting"),
  Type.Literal("connecting"),
  Type.Literal("publishing"),
]);
export type ClipStage = Static<typeof ClipStage>;

export const ClipMessage = Type.Union([
  Type.Object({ type: Type.Literal("hello"), protocol: Type.Integer() }),
  Type.Object({ type: Type.Literal("stage"), stage: ClipStage }),
  /** It ends now, and says why. */
  Type.Object({ type: Type.Literal("over"), detail: Type.String({ maxLength: 2000 }) }),
]);
export type ClipMessage = Static<typeof ClipMessage>;
