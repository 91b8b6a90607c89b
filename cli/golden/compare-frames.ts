/** Compares two runs of detection messages, frame by frame and object by object. Pure. */
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { compareValues, type Difference, type DifferenceKind } from "./difference.ts";
import { findDrift, findExcused } from "./drift.ts";
import { edgeDistance, overlap, type SeenFrame, type SeenObject } from "./frames.ts";
import { type Pair, pairObjects, TrackLinks } from "./pairs.ts";
import type { OverallTolerance, Tolerance } from "./tolerance.ts";

export interface FrameComparison {
  readonly frames: number;
  /** Compared objects: those that are confident in one of the runs. */
  readonly objects: number;
  readonly differences: readonly Difference[];
  /** Differences of single objects that the tolerance allows. */
  readonly excused: number;
}

/** `thresholds` are the confidence thresholds of the models, from 0 to 1. */
export function compareFrames(
  golden: readonly SeenFrame[],
  now: readonly SeenFrame[],
  tolerance: Tolerance,
  thresholds: readonly number[],
): FrameComparison {
  const confident = tolerance.margin === null ? 0 : Math.max(0, ...thresholds) * 100 + tolerance.margin;
  return new Comparer(tolerance, confident).compare(alignFrames(golden, now));
}

/** Rounding difference between the overlaps of `bbox` and `scaled_bbox`. */
const BOX_ROUNDING = 0.01;
const NOWHERE = { frame: null, timeMs: null, track: null, amount: null, golden: null, now: null } as const;

class Comparer {
  readonly #tolerance: Tolerance;
  /** Percent. */
  readonly #confident: number;
  readonly #links: TrackLinks;
  readonly #pairs: Pair[] = [];
  readonly #differences: Difference[] = [];
  #alone = 0;

  constructor(tolerance: Tolerance, confident: number) {
    this.#tolerance = tolerance;
    this.#confident = confident;
    this.#links = new TrackLinks(tolerance.overall === null);
  }

  compare(frames: readonly FramePair[]): FrameComparison {
    for (const frame of frames) this.#compareFrame(frame);
    const { overall } = this.#tolerance;
    const objects = this.#pairs.length + this.#alone;
    const excused = findExcused(this.#differences, objects, this.#tolerance);
    const differences = this.#differences
      .filter((difference) => !excused.has(difference))
      .sort((a, b) => (a.frame ?? 0) - (b.frame ?? 0) || (a.track ?? 0) - (b.track ?? 0));
    return {
      frames: frames.length,
      objects,
      differences: [...differences, ...(overall === null ? [] : this.#compareOverall(frames, overall))],
      excused: excused.size,
    };
  }

  #compareOverall(frames: readonly FramePair[], limits: OverallTolerance): readonly Difference[] {
    const identity = this.#links.measureIdentity();
    const [was, is] = [findHighestId(frames.map(({ golden }) => golden)), findHighestId(frames.map(({ now }) => now))];
    const found = [
      ...findDrift(this.#pairs, limits),
      ...(identity < limits.identity
        ? [`only ${identity.toFixed(0)} % of ${this.#pairs.length} objects are in the same track in both runs`]
        : []),
      ...(Math.abs(is - was) > Math.max(2, (was * limits.ids) / 100) ? [`the highest id is ${is}, was ${was}`] : []),
    ];
    return found.map((what) => ({ ...NOWHERE, kind: "overall", what }));
  }

  #compareFrame(frame: FramePair): void {
    const { golden, now } = frame;
    if (golden === null || now === null) {
      const what = `the message of this frame ${golden === null ? "is new" : "is missing"}`;
      this.#add(frame, { kind: "message", what, golden: showAll(golden), now: showAll(now) });
      return;
    }
    this.#compareOthers(golden.others, now.others, (kind, what) => this.#add(frame, { kind, what }));
    const rest = { golden: new Set(golden.objects), now: new Set(now.objects) };
    for (const [was, is] of pairObjects(golden.objects, now.objects, (a, b) => this.#links.areOne(a, b))) {
      rest.golden.delete(was);
      rest.now.delete(is);
      if (this.#isConfident(was) || this.#isConfident(is)) this.#compareObjects(frame, [was, is]);
    }
    for (const object of [...rest.golden].filter((one) => this.#isConfident(one)))
      this.#addAlone(frame, object, { kind: "missing", what: "is missing", golden: show(object) });
    for (const object of [...rest.now].filter((one) => this.#isConfident(one)))
      this.#addAlone(frame, object, { kind: "extra", what: "is new", now: show(object) });
  }

  #compareObjects(frame: FramePair, pair: Pair): void {
    const [was, is] = pair;
    const { iou, pixels, points } = this.#tolerance;
    const add = (kind: DifferenceKind, what: string, amount: number | null = null) =>
      this.#add(frame, { kind, track: was.id, what, amount, golden: show(was), now: show(is) });
    this.#pairs.push(pair);
    const other = this.#links.follow(pair, frame.number);
    if (other !== null) add("id", other);
    if (was.className !== is.className) add("class", `is a ${is.className}, was a ${was.className}`);
    else if (was.classId !== is.classId) add("class", `has the class_id ${is.classId}, had ${was.classId}`);
    const shared = overlap(was.box, is.box);
    const apart = edgeDistance(was.box, is.box);
    if (shared < iou && apart > pixels)
      add("box", `box is off by ${apart.toFixed(1)} px (IoU ${shared.toFixed(2)})`, apart);
    if (shared - overlap(was.scaledBox, is.scaledBox) > BOX_ROUNDING)
      add("value", `scaled_bbox is ${JSON.stringify(is.scaledBox)}, was ${JSON.stringify(was.scaledBox)}`);
    const change = is.confidence - was.confidence;
    if (Math.abs(change) > points)
      add("confidence", `confidence is ${change > 0 ? "+" : ""}${change.toFixed(1)} points`, Math.abs(change));
    this.#compareOthers(was.others, is.others, add);
  }

  #compareOthers(was: JsonRecord, is: JsonRecord, add: (kind: DifferenceKind, what: string) => void): void {
    for (const { path, golden, now } of compareValues(was, is, this.#tolerance.computed))
      add("value", `${path} is ${JSON.stringify(now)}, was ${JSON.stringify(golden)}`);
  }

  #isConfident({ confidence }: SeenObject): boolean {
    return confidence >= this.#confident;
  }

  #addAlone(frame: FramePair, { id, className }: SeenObject, found: Found): void {
    this.#alone += 1;
    this.#add(frame, { ...found, track: id, what: `${className} ${found.what}` });
  }

  #add({ number, timeMs }: FramePair, found: Found): void {
    this.#differences.push({ ...NOWHERE, frame: number, timeMs, ...found });
  }
}

type Found = Pick<Difference, "kind" | "what"> & Partial<Difference>;

const findHighestId = (frames: readonly (SeenFrame | null)[]): number =>
  frames.reduce((most, frame) => Math.max(most, ...(frame?.objects ?? []).map(({ id }) => id)), 0);

const show = ({ box, className, confidence, id }: SeenObject): Json => ({ id, className, box, confidence });

const showAll = (frame: SeenFrame | null): Json => (frame === null ? null : frame.objects.map(show));

/** Frames of both runs at the same time, or of the one that has it. */
export interface FramePair {
  /** From 1. */
  readonly number: number;
  readonly timeMs: number;
  readonly golden: SeenFrame | null;
  readonly now: SeenFrame | null;
}

/** A second message with the same time is another frame. */
export function alignFrames(golden: readonly SeenFrame[], now: readonly SeenFrame[]): readonly FramePair[] {
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
