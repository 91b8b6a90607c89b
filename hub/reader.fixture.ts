/** A reader that records its calls as text. */

import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { Reader } from "./live-stream.ts";

export class KeepingReader implements Reader {
  readonly units: { readonly unit: AccessUnit; readonly isCached: boolean }[] = [];
  readonly tracks: Tracks[] = [];
  /** `begin 640x360`, `key 0`, `picture 40 cached`, `sound 12`, `end gone`. */
  readonly words: string[] = [];
  missed = 0;
  #waiting: (() => void)[] = [];

  setTracks(tracks: Tracks): void {
    this.tracks.push(tracks);
    const { width, height } = tracks.video;
    this.#say(`begin ${width}x${height}${tracks.audio === null ? "" : " with sound"}`);
  }

  push(unit: AccessUnit, isCached: boolean): void {
    this.units.push({ unit, isCached });
    const kind = unit.kind === "audio" ? "sound" : unit.isKey ? "key" : "picture";
    this.#say(`${kind} ${unit.dtsUs / 1000}${isCached ? " cached" : ""}`);
  }

  end(reason: string): void {
    this.#say(`end ${reason}`);
  }

  /** Resolves when the words are so. */
  async until(isSo: (words: readonly string[]) => boolean): Promise<void> {
    while (!isSo(this.words)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #say(word: string): void {
    this.words.push(word);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
