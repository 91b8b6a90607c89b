/** The result of checking an uploaded model: one line of JSON of the program `elements/detect/check/check.mjs`. */
import { type Static, Type } from "typebox";

export const ModelCheck = Type.Object({
  /** The card with its defaults; absent if there is a fault. */
  card: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  /** By class index of the network. */
  labels: Type.Optional(Type.Array(Type.String())),
  /** What is wrong, with the position in the card. */
  fault: Type.Optional(Type.String()),
});
export type ModelCheck = Static<typeof ModelCheck>;
