/**
 * The ids that a process gives to its tracks: never the same twice, whatever crashes. What clients were told is known
 * here at once, what the database knows is some seconds old: so it is told of ids ahead of those given.
 */
import type { JsonRecord } from "../../schemas/json.ts";

const RESERVE = 1000;

export class TrackIds {
  #next: number;
  #reserved: number;

  constructor(next: number) {
    this.#next = next;
    this.#reserved = next + RESERVE;
  }

  /** The first that nobody was told. */
  get next(): number {
    return this.#next;
  }

  /** To be written down: the next run after a crash of the server begins there. */
  get reserved(): number {
    return this.#reserved;
  }

  /** True when more had to be reserved. */
  advance(next: number): boolean {
    if (next <= this.#next) return false;
    this.#next = next;
    if (next <= this.#reserved - RESERVE / 2) return false;
    this.#reserved = next + RESERVE;
    return true;
  }

  /** From a message to clients. */
  noteMessage({ active_tracks: tracks }: JsonRecord): boolean {
    if (!Array.isArray(tracks)) return false;
    let highest = 0;
    for (const track of tracks) if (typeof track?.track_id === "number") highest = Math.max(highest, track.track_id);
    return this.advance(highest + 1);
  }
}
