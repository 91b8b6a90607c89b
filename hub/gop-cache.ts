/** The units since the last key picture, for readers that join. One that grows too large is given up until the next. */
import type { AccessUnit } from "../media/access-unit.ts";

/** A group of pictures has hundreds of units; each costs more than its bytes. */
const MOST_UNITS = 8192;

export class GopCache {
  readonly #mostBytes: () => number;
  #units: AccessUnit[] = [];
  #bytes = 0;

  /** Asked with every unit: what one stream may have depends on how many its owner publishes. */
  constructor(mostBytes: () => number) {
    this.#mostBytes = mostBytes;
  }

  get isEmpty(): boolean {
    return this.#units.length === 0;
  }

  /** As they are now: what is added later is not in it. */
  units(): readonly AccessUnit[] {
    return this.#units.slice();
  }

  add(unit: AccessUnit): void {
    if (unit.kind === "video" && unit.isKey) this.clear();
    else if (this.isEmpty) return;
    for (const part of unit.parts) this.#bytes += part.length;
    this.#units.push(unit);
    if (this.#bytes > this.#mostBytes() || this.#units.length > MOST_UNITS) this.clear();
  }

  clear(): void {
    this.#units = [];
    this.#bytes = 0;
  }
}
