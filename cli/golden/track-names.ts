/** Which track of one run is which of another, as time passes. */
import type { Pair } from "./pair-objects.ts";

export type Side = "golden" | "now";

export class TrackNames {
  /** From ids of the golden to those that they are paired with now, and back; 0 where nothing is tracked. */
  readonly #current: Readonly<Record<Side, Map<number, number>>> = { golden: new Map(), now: new Map() };
  /** What each was when it was met first, one to one: whether the ids are those of the golden is another question. */
  readonly first = new Map<number, number>();

  /** Whether each is what the other was met as last. */
  areOne(was: number, is: number): boolean {
    const { golden, now } = this.#current;
    return was !== 0 && is !== 0 && golden.get(was) === is && now.get(is) === was;
  }

  /** Null, or what is told once: a track goes on as another. */
  follow([{ id: was }, { id: is }]: Pair): string | null {
    const { golden, now } = this.#current;
    const [before, owner] = [golden.get(was), now.get(is)];
    if (was === 0 && is === 0) return null;
    if (was !== 0) golden.set(was, is);
    if (is !== 0) now.set(is, was);
    if (was === 0) return owner === 0 ? null : `is tracked from here on, as ${is}`;
    if (before === is && (is === 0 || owner === was)) return null;
    if (is === 0) return "is not tracked from here on";
    if (before === is) return `is ${is} again, which was ${nameOwner(owner)} in between`;
    if (before !== undefined) return `is ${is} from here on, was ${before}`;
    if (owner !== undefined) return `is ${is} from here on, which was ${nameOwner(owner)}`;
    this.first.set(was, is);
    return null;
  }
}

const nameOwner = (owner: number | undefined): string => (owner ? `track ${owner}` : "in no track");
