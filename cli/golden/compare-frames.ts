/** Two runs of detection messages, frame by frame and track by track. Pure. */
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { compareValues } from "./compare-values.ts";
import type { Difference, DifferenceKind } from "./difference.ts";
import { findDrift } from "./drift.ts";
import { edgeDistance, overlap, type SeenFrame, type SeenObject } from "./frames.ts";
import { type Pair, pairObjects } from "./pair-objects.ts";
import { type Births, listRenamed } from "./renamed.ts";
import type { Tolerance } from "./tolerance.ts";
import { type Side, TrackNames } from "./track-names.ts";

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

/** Frames of both runs at the same time, or of the one that has it. */
interface FramePair {
  /** From 1. */
  readonly number: number;
  readonly timeMs: number;
  readonly golden: SeenFrame | null;
  readonly now: SeenFrame | null;
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
  readonly #names = new TrackNames();
  readonly #paired: Pair[] = [];
  /** By track: the frames in which it is paired. */
  readonly #met: Readonly<Record<Side, Map<number, Set<number>>>> = { golden: new Map(), now: new Map() };
  readonly #alone: Alone[] = [];
  readonly #differences: Difference[] = [];

  constructor(pairs: readonly FramePair[], tolerance: Tolerance, thresholds: readonly number[]) {
    this.#pairs = pairs;
    this.#tolerance = tolerance;
    this.#thresholds = thresholds;
  }

  run(): FrameComparison {
    for (const pair of this.#pairs) this.#compareFrame(pair);
    const renamed = this.#compareIds();
    const count = (side: Side) => this.#pairs.reduce((sum, pair) => sum + (pair[side]?.objects.length ?? 0), 0);
    const objects = Math.max(count("golden"), count("now"));
    const excused = this.#alone.filter((alone) => this.#mayBeAlone(alone));
    // More than chance explains: all of them are told.
    const isTooMuch = excused.length > (objects * this.#tolerance.share) / 100;
    for (const alone of this.#alone) if (isTooMuch || !excused.includes(alone)) this.#tellAlone(alone);
    this.#differences.sort((a, b) => (a.frame ?? 0) - (b.frame ?? 0) || (a.track ?? 0) - (b.track ?? 0));
    const { mean } = this.#tolerance;
    const drift = mean === null ? [] : findDrift(this.#paired, mean);
    return {
      frames: this.#pairs.length,
      objects,
      differences: [...this.#differences, ...drift.map((what) => ({ ...NOWHERE, kind: "mean" as const, what }))],
      excused: isTooMuch ? 0 : excused.length,
      renamed,
    };
  }

  /** A track that has another number from its beginning on is told there; returns those that may have. */
  #compareIds(): FrameComparison["renamed"] {
    const { first } = this.#names;
    const births = { golden: listBirths(this.#pairs, "golden"), now: listBirths(this.#pairs, "now") };
    const renamed = listRenamed(first, births, this.#tolerance.frames);
    const explained = new Set(renamed.map(([was]) => was));
    for (const [was, is] of first) {
      const pair = this.#pairs[(births.golden.get(was) ?? 0) - 1];
      if (was === is || explained.has(was) || pair === undefined) continue;
      const what = `has the id ${is} from its beginning on`;
      this.#tell(pair, { kind: "id", track: was, what, golden: was, now: is });
    }
    return renamed;
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
    for (const [was, is] of pairObjects(golden.objects, now.objects, this.#names)) {
      rest.golden.delete(was);
      rest.now.delete(is);
      this.#paired.push([was, is]);
      this.#meet("golden", was.id, pair.number);
      this.#meet("now", is.id, pair.number);
      this.#compareObjects(pair, was, is);
    }
    for (const side of SIDES) for (const object of rest[side]) this.#alone.push({ side, pair, object });
  }

  #compareObjects(pair: FramePair, was: SeenObject, is: SeenObject): void {
    const { iou, pixels, points } = this.#tolerance;
    const tell = (kind: DifferenceKind, what: string, amount: number | null = null) =>
      this.#tell(pair, { kind, track: was.id, what, amount, golden: show(was), now: show(is) });
    const other = this.#names.follow([was, is]);
    if (other !== null) tell("id", other);
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

  #meet(side: Side, id: number, frame: number): void {
    this.#met[side].set(id, (this.#met[side].get(id) ?? new Set()).add(frame));
  }

  #tellAlone({ side, pair, object }: Alone): void {
    this.#tell(pair, {
      track: object.id,
      what: `${object.className} ${side === "golden" ? "is missing" : "was not there before"}`,
      ...(side === "golden"
        ? ({ kind: "missing", golden: show(object) } as const)
        : ({ kind: "extra", now: show(object) } as const)),
    });
  }

  /** Near a threshold, or of a track that both runs have a moment earlier or later. */
  #mayBeAlone({ side, pair, object: { id, confidence } }: Alone): boolean {
    const { frames, points } = this.#tolerance;
    const isNear = (threshold: number): boolean => Math.abs(confidence - threshold * 100) <= points;
    if (frames === 0) return false;
    if (this.#thresholds.some(isNear)) return true;
    const met = id === 0 ? undefined : this.#met[side].get(id);
    for (let near = pair.number - frames; near <= pair.number + frames; near++) if (met?.has(near)) return true;
    return false;
  }

  #tell(pair: FramePair, told: Told): void {
    this.#differences.push(makeDifference(pair, told));
  }
}

const SIDES = ["golden", "now"] as const;

/** An object on one side only. */
interface Alone {
  readonly side: Side;
  readonly pair: FramePair;
  readonly object: SeenObject;
}

function listBirths(pairs: readonly FramePair[], side: Side): Births {
  const births = new Map<number, number>();
  for (const pair of pairs)
    for (const { id } of pair[side]?.objects ?? []) if (id !== 0 && !births.has(id)) births.set(id, pair.number);
  return births;
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
