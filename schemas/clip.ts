/**
 * IPC messages between the server and the child process that publishes the demo's clip, as JSON over the channel of
 * `fork`. Both sides validate every message.
 */
import { type Static, Type } from "typebox";

export const CLIP_PROTOCOL = 2;

/** The only request. */
export const ClipRequest = Type.Object({
  type: Type.Literal("publish"),
  /** Contains credentials for publishing: never log or show it. */
  url: Type.String({ maxLength: 2000 }),
  /** A video file; null for the default street scene. */
  file: Type.Union([Type.String({ maxLength: 4096 }), Type.Null()]),
});
export type ClipRequest = Static<typeof ClipRequest>;

/** `connecting`: the clip is ready, and the hub has not accepted it yet. */
export const ClipStage = Type.Enum(["fetching", "converting", "connecting", "publishing"]);
export type ClipStage = Static<typeof ClipStage>;

export const ClipMessage = Type.Union([
  Type.Object({ type: Type.Literal("hello"), protocol: Type.Integer() }),
  Type.Object({ type: Type.Literal("stage"), stage: ClipStage }),
  /** The process exits, with the reason. */
  Type.Object({ type: Type.Literal("over"), detail: Type.String({ maxLength: 2000 }) }),
]);
export type ClipMessage = Static<typeof ClipMessage>;
