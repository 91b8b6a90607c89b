/** Two runs of detection messages, frame by frame and track by track. Pure. */
import type { Json } from "../../schemas/json.ts";
import { compareValues } from "./compare-values.ts";
import type { Difference, DifferenceKind } from "./difference.ts";
import { edgeDistance, overlap, type SeenFrame, type SeenObject } from "./frames.ts";
import { LEAST_OVERLAP, type Pair, pairObjects } from "./pair-objects.ts";
import type { Tolerance } from "./tolerance.ts";
import { type FramePair, type Lives, listLives, nameTracks, type Side } from "./track-names.ts";

export interface FrameComparison {
  readonly frames: number;
  /** On the side that has more. */
  readonly objects: number;
  readonly differences: readonly Difference[];
  /** Objects on one side only that the tolerance allows. */
  readonly excused: number;
  /** Tracks with another id that the tolerance allows: golden, now. */
  readonly renamed: readonly (readonly [number, number])[];
}

/** `thresholds` are those of the model, from 0 to 1: near them an object may be seen by one run and not by the other. */
export function compareFrames(
  golden: readonly SeenFrame[],
  now: readonly SeenFrame[],
  tolerance: Tolerance,
  thresholds: readonly number[],
): FrameComparison {
  const comparison = new Comparing(alignFrames(golden, now), tolerance, thresholds);
  return comparison.run();
}

function alignFrames(golden: readonly SeenFrame[], now: readonly SeenFrame[]): readonly FramePair[] {
  const was = new Map(golden.map((frame) => [frame.timeMs, frame]));
  const is = new Map(now.map((frame) => [frame.timeMs, frame]));
  const times = [...new Set([...was.keys(), ...is.keys()])].sort((a, b) => a - b);
  return times.map((timeMs, index) => ({
    number: index + 1,
    timeMs,
    golden: was.get(timeMs) ?? null,
    now: is.get(timeMs) ?? null,
  }));
}

class Comparing {
  readonly #pairs: readonly FramePair[];
  readonly #tolerance: Tolerance;
  readonly #thresholds: readonly number[];
  readonly #lives: Readonly<Record<Side, Lives>>;
  /** Golden to now, and back. */
  readonly #names: Readonly<Record<Side, ReadonlyMap<number, number>>>;
  readonly #differences: Difference[] = [];
  readonly #excused: Difference[] = [];
  readonly #renamed: (readonly [number, number])[] = [];

  constructor(pairs: readonly FramePair[], tolerance: Tolerance, thresholds: readonly number[]) {
    this.#pairs = pairs;
    this.#tolerance = tolerance;
    this.#thresholds = thresholds;
    this.#lives = { golden: listLives(pairs, "golden"), now: listLives(pairs, "now") };
    const names = nameTracks(pairs);
    this.#names = { golden: names, now: new Map([...names].map(([was, is]) => [is, was])) };
  }

  run(): FrameComparison {
    this.#compareIds();
    for (const pair of this.#pairs) this.#compareFrame(pair);
    const count = (side: Side) => this.#pairs.reduce((sum, pair) => sum + (pair[side]?.objects.length ?? 0), 0);
    const objects = Math.max(count("golden"), count("now"));
    // More than chance explains: all of them are told.
    const isTooMuch = this.#excused.length > (objects * this.#tolerance.share) / 100;
    if (isTooMuch) this.#differences.push(...this.#excused);
    return {
      frames: this.#pairs.length,
      objects,
      differences: this.#differences.sort((a, b) => a.frame - b.frame || (a.track ?? 0) - (b.track ?? 0)),
      excused: isTooMuch ? 0 : this.#excused.length,
      renamed: this.#renamed,
    };
  }

  /** A track that is the same throughout, under another number, is one difference and not one a frame. */
  #compareIds(): void {
    for (const [was, is] of [...this.#names.golden].sort(([a], [b]) => a - b)) {
      if (was === is) continue;
      if (this.#mayRename(was, is)) {
        this.#renamed.push([was, is]);
        continue;
      }
      const pair = this.#pairs[birthOf(this.#lives.golden, was) - 1];
      const what = `has the id ${is} from its beginning on`;
      if (pair !== undefined) this.#tell(pair, { kind: "id", track: was, what, golden: was, now: is });
    }
  }

  /** Objects that appear at about the same time may swap ids; behind a track that only one run has, ids are shifted. */
  #mayRename(was: number, is: number): boolean {
    const { frames } = this.#tolerance;
    const { golden } = this.#lives;
    const birth = birthOf(golden, was);
    if (frames > 0 && golden.has(is) && Math.abs(birthOf(golden, is) - birth) <= frames) return true;
    return SIDES.some((side) =>
      [...this.#lives[side].keys()].some(
        (id) => !this.#names[side].has(id) && birthOf(this.#lives[side], id) <= birth + frames,
      ),
    );
  }

  #compareFrame(pair: FramePair): void {
    const { golden, now } = pair;
    if (golden === null || now === null) {
      const what = `the message of this frame ${golden === null ? "was not there before" : "is not there any more"}`;
      this.#tell(pair, { kind: "message", track: null, what, golden: showAll(golden), now: showAll(now) });
      return;
    }
    const rest = { golden: new Set(golden.objects), now: new Set(now.objects) };
    for (const [was, is] of this.#pairUp(golden.objects, now.objects)) {
      rest.golden.delete(was);
      rest.now.delete(is);
      this.#compareObjects(pair, was, is);
    }
    for (const side of SIDES) for (const object of rest[side]) this.#tellAlone(side, pair, object);
  }

  /** Those of one track where they are near each other, then by place, then those of one track wherever they are. */
  #pairUp(golden: readonly SeenObject[], now: readonly SeenObject[]): readonly Pair[] {
    const named = golden.flatMap((was) => {
      const id = this.#names.golden.get(was.id);
      const is = now.find((object) => object.id === id);
      return is === undefined ? [] : [[was, is] as const];
    });
    const near = named.filter(([was, is]) => overlap(was.box, is.box) >= LEAST_OVERLAP);
    const taken = new Set<SeenObject>(near.flat());
    const free = (objects: readonly SeenObject[]) => objects.filter((object) => !taken.has(object));
    const placed = pairObjects(free(golden), free(now));
    for (const object of placed.flat()) taken.add(object);
    const far = named.filter(([was, is]) => !taken.has(was) && !taken.has(is));
    return [...near, ...placed, ...far];
  }

  #compareObjects(pair: FramePair, was: SeenObject, is: SeenObject): void {
    const { iou, pixels, points } = this.#tolerance;
    const tell = (kind: DifferenceKind, what: string, amount: number | null = null) =>
      this.#tell(pair, { kind, track: was.id, what, amount, golden: show(was), now: show(is) });
    const expected = this.#names.golden.get(was.id);
    if (is.id !== (expected ?? 0))
      tell("id", `is ${is.id} here${expected === undefined ? "" : `, elsewhere ${expected}`}`);
    if (was.className !== is.className) tell("class", `is a ${is.className}, was a ${was.className}`);
    const shared = overlap(was.box, is.box);
    const apart = edgeDistance(was.box, is.box);
    if (shared < iou && apart > pixels)
      tell("box", `box is off by ${apart.toFixed(1)} px (IoU ${shared.toFixed(2)})`, apart);
    const change = is.confidence - was.confidence;
    if (Math.abs(change) > points)
      tell("confidence", `confidence is ${change > 0 ? "+" : ""}${change.toFixed(1)} points`, Math.abs(change));
    for (const { path, golden, now } of compareValues(was.others, is.others, this.#tolerance.relative))
      tell("value", `${path} is ${JSON.stringify(now)}, was ${JSON.stringify(golden)}`);
  }

  #tellAlone(side: Side, pair: FramePair, object: SeenObject): void {
    const told = {
      track: object.id,
      what: `${object.className} ${side === "golden" ? "is missing" : "was not there before"}`,
      ...(side === "golden"
        ? ({ kind: "missing", golden: show(object) } as const)
        : ({ kind: "extra", now: show(object) } as const)),
    };
    if (this.#mayBeAlone(side, pair.number, object)) this.#excused.push(makeDifference(pair, told));
    else this.#tell(pair, told);
  }

  /** Near a threshold, or the other run has it a moment earlier or later. */
  #mayBeAlone(side: Side, frame: number, { id, confidence }: SeenObject): boolean {
    const { frames, points } = this.#tolerance;
    const isNear = (threshold: number): boolean => Math.abs(confidence - threshold * 100) <= points;
    if (points > 0 && this.#thresholds.some(isNear)) return true;
    const other = this.#names[side].get(id);
    const life = other === undefined ? undefined : this.#lives[side === "golden" ? "now" : "golden"].get(other);
    for (let near = frame - frames; near <= frame + frames; near++) if (life?.has(near)) return true;
    return false;
  }

  #tell(pair: FramePair, told: Told): void {
    this.#differences.push(makeDifference(pair, told));
  }
}

const SIDES = ["golden", "now"] as const;

const birthOf = (lives: Lives, id: number): number => lives.get(id)?.values().next().value ?? 0;

const show = ({ box, className, confidence, id }: SeenObject): Json => ({ id, className, box, confidence });

const showAll = (frame: SeenFrame | null): Json => (frame === null ? null : frame.objects.map(show));

type Told = Pick<Difference, "kind" | "track" | "what"> & Partial<Difference>;

const makeDifference = ({ number, timeMs }: FramePair, told: Told): Difference => ({
  frame: number,
  timeMs,
  amount: null,
  golden: null,
  now: null,
  ...told,
});
