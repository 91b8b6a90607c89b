/**
 * What is live, by path: one publisher each, any number of readers. A reader that joins gets the pictures since the last
 * key frame at once, then what comes. Nothing a reader does can hold up the publisher or another reader.
 */
import type { Tracks, Unit } from "../media/unit.ts";

/** Of one publication: whoever takes its units. Its methods must neither block nor throw. */
export interface Reader {
  /** Comes first, and again when the publisher changes its picture: a key unit follows. */
  begin(tracks: Tracks): void;
  /** `isCached`: it came before this reader did, and is sent to give it a picture soon. */
  take(unit: Unit, isCached: boolean): void;
  /** The publication is over; nothing more comes. */
  end(reason: string): void;
}

/** What a publisher holds. Everything after `close` does nothing. */
export interface Publication {
  readonly path: string;
  /** Before the first unit, and whenever they change. */
  begin(tracks: Tracks): void;
  write(unit: Unit): void;
  close(reason: string): void;
}

/** Why a publisher or a reader is not let in. */
export class StreamRefusal extends Error {
  readonly kind: "busy" | "not_live" | "too_many";
  constructor(kind: StreamRefusal["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
