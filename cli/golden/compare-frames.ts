/** Two runs of detection messages, frame by frame and track by track. Pure. */
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { compareValues } from "./compare-values.ts";
import type { Difference, DifferenceKind } from "./difference.ts";
import { findDrift } from "./drift.ts";
import { edgeDistance, overlap, type SeenFrame, type SeenObject } from "./frames.ts";
import { type Pair, pairObjects } from "./pair-objects.ts";
import { birthOf, listRenamed } from "./renamed.ts";
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

/** By time; a second message with one time is another frame. */
function alignFrames(golden: readonly SeenFrame[], now: readonly SeenFrame[]): readonly FramePair[] {
  const [was, is] = [numberTimes(golden), numberTimes(now)];
  const keys = [...new Map([...was, ...is]).entries()].sort(([, a], [, b]) => a.timeMs - b.timeMs);
  return keys.map(([key, { timeMs }], index) => ({
    number: index + 1,
    timeMs,
    golden: was.get(key) ?? null,
    now: is.get(key) ?? null,
  }));
}

function numberTimes(frames: readonly SeenFrame[]): ReadonlyMap<string, SeenFrame> {
  const counts = new Map<number, number>();
  return new Map(
    frames.map((frame) => {
      const count = (counts.get(frame.timeMs) ?? 0) + 1;
      counts.set(frame.timeMs, count);
      return [`${frame.timeMs} ${count}`, frame] as const;
    }),
  );
}

/** By which the overlaps of the two boxes of an object may differ for being written with few digits. */
const BOX_ROUNDING = 0.01;

class Comparing {
  readonly #pairs: readonly FramePair[];
  readonly #tolerance: Tolerance;
  readonly #thresholds: readonly number[];
  readonly #lives: Readonly<Record<Side, Lives>>;
  /** Golden to now, and back. */
  readonly #names: Readonly<Record<Side, ReadonlyMap<number, number>>>;
  readonly #differences: Difference[] = [];
  readonly #excused: Difference[] = [];
  readonly #renamed: readonly (readonly [number, number])[];
  readonly #paired: Pair[] = [];

  constructor(pairs: readonly FramePair[], tolerance: Tolerance, thresholds: readonly number[]) {
    this.#pairs = pairs;
    this.#tolerance = tolerance;
    this.#thresholds = thresholds;
    this.#lives = { golden: listLives(pairs, "golden"), now: listLives(pairs, "now") };
    const names = nameTracks(pairs);
    this.#names = { golden: names, now: new Map([...names].map(([was, is]) => [is, was])) };
    this.#renamed = listRenamed(names, this.#lives, tolerance.frames);
  }

  run(): FrameComparison {
    this.#compareIds();
    for (const pair of this.#pairs) this.#compareFrame(pair);
    const count = (side: Side) => this.#pairs.reduce((sum, pair) => sum + (pair[side]?.objects.length ?? 0), 0);
    const objects = Math.max(count("golden"), count("now"));
    // More than chance explains: all of them are told.
    const isTooMuch = this.#excused.length > (objects * this.#tolerance.share) / 100;
    if (isTooMuch) this.#differences.push(...this.#excused);
    this.#differences.sort((a, b) => (a.frame ?? 0) - (b.frame ?? 0) || (a.track ?? 0) - (b.track ?? 0));
    const { mean } = this.#tolerance;
    const drift = mean === null ? [] : findDrift(this.#paired, mean);
    return {
      frames: this.#pairs.length,
      objects,
      differences: [...this.#differences, ...drift.map((what) => ({ ...NOWHERE, kind: "mean" as const, what }))],
      excused: isTooMuch ? 0 : this.#excused.length,
      renamed: this.#renamed,
    };
  }

  /** A track that is the same throughout, under another number, is one difference and not one a frame. */
  #compareIds(): void {
    const renamed = new Set(this.#renamed.map(([was]) => was));
    for (const [was, is] of this.#names.golden) {
      const pair = this.#pairs[birthOf(this.#lives.golden, was) - 1];
      if (was === is || renamed.has(was) || pair === undefined) continue;
      const what = `has the id ${is} from its beginning on`;
      this.#tell(pair, { kind: "id", track: was, what, golden: was, now: is });
    }
  }

  #compareFrame(pair: FramePair): void {
    const { golden, now } = pair;
    if (golden === null || now === null) {
      const what = `the message of this frame ${golden === null ? "was not there before" : "is not there any more"}`;
      this.#tell(pair, { kind: "message", track: null, what, golden: showAll(golden), now: showAll(now) });
      return;
    }
    this.#compareOthers(golden.others, now.others, (kind, what) => this.#tell(pair, { kind, track: null, what }));
    const rest = { golden: new Set(golden.objects), now: new Set(now.objects) };
    for (const [was, is] of pairObjects(golden.objects, now.objects, this.#names.golden)) {
      rest.golden.delete(was);
      rest.now.delete(is);
      this.#paired.push([was, is]);
      this.#compareObjects(pair, was, is);
    }
    for (const side of SIDES) for (const object of rest[side]) this.#tellAlone(side, pair, object);
  }

  #compareObjects(pair: FramePair, was: SeenObject, is: SeenObject): void {
    const { iou, pixels, points } = this.#tolerance;
    const tell = (kind: DifferenceKind, what: string, amount: number | null = null) =>
      this.#tell(pair, { kind, track: was.id, what, amount, golden: show(was), now: show(is) });
    const expected = was.id === 0 ? 0 : this.#names.golden.get(was.id);
    if (is.id !== expected) tell("id", describeId(is.id, expected));
    if (was.className !== is.className) tell("class", `is a ${is.className}, was a ${was.className}`);
    else if (was.classId !== is.classId) tell("class", `has the class_id ${is.classId}, had ${was.classId}`);
    const shared = overlap(was.box, is.box);
    const apart = edgeDistance(was.box, is.box);
    if (shared < iou && apart > pixels)
      tell("box", `box is off by ${apart.toFixed(1)} px (IoU ${shared.toFixed(2)})`, apart);
    if (shared - overlap(was.scaledBox, is.scaledBox) > BOX_ROUNDING)
      tell("value", `scaled_bbox is ${JSON.stringify(is.scaledBox)}, was ${JSON.stringify(was.scaledBox)}`);
    const change = is.confidence - was.confidence;
    if (Math.abs(change) > points)
      tell("confidence", `confidence is ${change > 0 ? "+" : ""}${change.toFixed(1)} points`, Math.abs(change));
    this.#compareOthers(was.others, is.others, tell);
  }

  #compareOthers(was: JsonRecord, is: JsonRecord, tell: (kind: DifferenceKind, what: string) => void): void {
    for (const { path, golden, now } of compareValues(was, is, this.#tolerance.relative))
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

function describeId(is: number, expected: number | undefined): string {
  if (is === 0) return "is not tracked here";
  if (expected === 0) return `is tracked here, as ${is}`;
  return `is ${is} here${expected === undefined ? "" : `, elsewhere ${expected}`}`;
}

const show = ({ box, className, confidence, id }: SeenObject): Json => ({ id, className, box, confidence });

const showAll = (frame: SeenFrame | null): Json => (frame === null ? null : frame.objects.map(show));

type Told = Pick<Difference, "kind" | "track" | "what"> & Partial<Difference>;

const NOWHERE = { frame: null, timeMs: null, track: null, amount: null, golden: null, now: null } as const;

const makeDifference = ({ number, timeMs }: FramePair, told: Told): Difference => ({
  ...NOWHERE,
  frame: number,
  timeMs,
  ...told,
});
