/** Compares two recordings of the same graph and clip within a tolerance. Pure. */
import { compareEvents, readEvent } from "./compare-events.ts";
import { compareFrames } from "./compare-frames.ts";
import type { Difference } from "./difference.ts";
import { compareValues } from "./difference.ts";
import { readFrame } from "./frames.ts";
import type { Golden, Said } from "./golden.ts";
import { formatSaid } from "./golden.ts";
import { LEVELS, type Level, type Tolerance } from "./tolerance.ts";

/** The messages of one node on one channel. */
export interface StreamComparison {
  readonly node: string;
  readonly channel: string;
  /** Of both runs. */
  readonly messages: number;
  /** Compared objects of detection messages. */
  readonly objects: number;
  readonly differences: readonly Difference[];
  readonly excused: number;
}

export function compareGoldens(golden: Golden, now: Golden, level: Level): readonly StreamComparison[] {
  const thresholds = golden.header.models.map(({ confidence }) => confidence);
  const [was, is] = [groupStreams(golden.said), groupStreams(now.said)];
  return [...new Set([...was.keys(), ...is.keys()])].map((key) => {
    const [before, after] = [was.get(key) ?? [], is.get(key) ?? []];
    const { node, channel } = before[0] ?? after[0] ?? { node: "", channel: "" };
    const comparison = compareStream(before, after, LEVELS[level], thresholds);
    const lines = level === "exact" ? compareLines(before, after, comparison.differences) : [];
    return { node, channel, ...comparison, differences: [...comparison.differences, ...lines] };
  });
}

function groupStreams(said: readonly Said[]): ReadonlyMap<string, readonly Said[]> {
  const streams = new Map<string, Said[]>();
  for (const one of said) {
    const key = JSON.stringify([one.node, one.channel]);
    const stream = streams.get(key);
    if (stream === undefined) streams.set(key, [one]);
    else stream.push(one);
  }
  return streams;
}

function compareStream(
  before: readonly Said[],
  after: readonly Said[],
  tolerance: Tolerance,
  thresholds: readonly number[],
): Omit<StreamComparison, "node" | "channel"> {
  const [golden, now] = [readAll(before, readFrame), readAll(after, readFrame)];
  if (golden !== null && now !== null) {
    const { frames, ...rest } = compareFrames(golden, now, tolerance, thresholds);
    return { messages: frames, ...rest };
  }
  const messages = Math.max(before.length, after.length);
  const [was, is] = [readAll(before, readEvent), readAll(after, readEvent)];
  if (tolerance.eventsApartMs !== null && was !== null && is !== null)
    return { messages, objects: 0, differences: compareEvents(was, is, tolerance.eventsApartMs), excused: 0 };
  const differences = Array.from({ length: messages }, (_, index) =>
    compareMessages(before[index], after[index], index + 1, tolerance),
  ).flat();
  return { messages, objects: 0, differences, excused: 0 };
}

/** Differences that the comparison of values does not find, such as another order of objects. */
function compareLines(
  before: readonly Said[],
  after: readonly Said[],
  known: readonly Difference[],
): readonly Difference[] {
  const frames = new Set(known.map(({ frame }) => frame));
  return before.flatMap((was, index) => {
    const [frame, is] = [index + 1, after[index]];
    if (is === undefined || frames.has(frame) || formatSaid(was) === formatSaid(is)) return [];
    const what = "the line differs";
    return [{ ...at(frame), kind: "value", what, golden: was.message, now: is.message }];
  });
}

const at = (frame: number) => ({ frame, timeMs: null, track: null, amount: null }) as const;

/** Null unless all are messages of this kind. */
function readAll<T>(said: readonly Said[], read: (one: Said) => T | null): readonly T[] | null {
  const all = said.map(read);
  return all.some((one) => one === null) ? null : (all as readonly T[]);
}

function compareMessages(
  before: Said | undefined,
  after: Said | undefined,
  frame: number,
  { relative }: Tolerance,
): readonly Difference[] {
  if (before === undefined || after === undefined) {
    const what = `the message ${before === undefined ? "is new" : "is missing"}`;
    return [{ ...at(frame), kind: "message", what, golden: before?.message ?? null, now: after?.message ?? null }];
  }
  return compareValues(before.message, after.message, relative).map(({ path, golden, now }) => ({
    ...at(frame),
    kind: "value",
    what: `${path} is ${JSON.stringify(now)}, was ${JSON.stringify(golden)}`,
    golden,
    now,
  }));
}
