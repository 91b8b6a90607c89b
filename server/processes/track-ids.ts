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

  /** From a message to clients, or from a report of tracks, which is kept. */
  noteMessage({ active_tracks: shown, tracks: reported }: JsonRecord): boolean {
    let highest = 0;
    for (const track of Array.isArray(shown) ? shown : []) highest = Math.max(highest, readId(track, "track_id"));
    for (const track of Array.isArray(reported) ? reported : []) highest = Math.max(highest, readId(track, "id"));
    return this.advance(highest + 1);
  }
}

function readId(track: unknown, name: string): number {
  const id = (track as JsonRecord | null)?.[name];
  return typeof id === "number" ? id : 0;
}
