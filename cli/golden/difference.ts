import type { Json } from "../../schemas/json.ts";

export type DifferenceKind =
  /** A whole message is there on one side only. */
  | "message"
  /** An object is there on one side only. */
  | "missing"
  | "extra"
  | "id"
  | "class"
  | "box"
  | "confidence"
  /** Of all objects together. */
  | "overall"
  /** Anything else that a message tells. */
  | "value";

export interface Difference {
  readonly kind: DifferenceKind;
  /** Of the messages of its node, from 1; null where it is of all of them. */
  readonly frame: number | null;
  /** In the stream; null where the message has no time. */
  readonly timeMs: number | null;
  /** In the golden, or now for an object that is only there. Null where it is of no track. */
  readonly track: number | null;
  /** In words: `box is off by 23.0 px (IoU 0.61)`. */
  readonly what: string;
  /** Pixels or points; null where it is no number. */
  readonly amount: number | null;
  readonly golden: Json;
  readonly now: Json;
}
