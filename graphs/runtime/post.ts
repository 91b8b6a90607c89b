/** Messages from outside for the elements of a graph. */
import type { JsonRecord } from "../../schemas/json.ts";

type Take = (message: JsonRecord) => void;

export class Post {
  readonly #listeners = new Map<string, Set<Take>>();

  /** Returns how to stop listening. */
  listen(channel: string, take: Take): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(take));
    return () => void listeners.delete(take);
  }

  /** How many listened. */
  deliver(channel: string, message: JsonRecord): number {
    const listeners = this.#listeners.get(channel) ?? new Set();
    for (const take of listeners) take(message);
    return listeners.size;
  }
}
