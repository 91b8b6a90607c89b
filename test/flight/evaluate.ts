/**
 * Compares positions from the service with the ground truth. Objects are matched by their boxes in the picture, not by the
 * positions, which are under test.
 */
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { TrueFrame, TrueTarget, Truth } from "./truth.ts";
import { toEnu } from "./world.ts";

type Box = TrueTarget["box"];

export type ReceivedMessage = Pick<DetectionMessage, "timestamp" | "active_tracks" | "telemetry_age_ms">;

export interface Finding {
  /** Time of the frame since the start of the flight. */
  readonly seconds: number;
  readonly trueId: number;
  readonly trackId: number;
  /** Metres east and north of the origin. */
  readonly real: readonly [number, number];
  readonly found: readonly [number, number];
  readonly errorM: number;
  /** The error estimate of the service. */
  readonly statedErrorM: number | null;
  /** Time to the nearest telemetry sample. */
  readonly ageMs: number | null;
}

/** Minimum IoU of a match. */
const LEAST_OVERLAP = 0.4;
/** Messages used to find the start, and the latest time of the first one. */
const MAX_MESSAGES = 40;
const LATEST_SECONDS = 8;

const timeOf = ({ timestamp }: ReceivedMessage): number => Date.parse(timestamp);

/**
 * Unix time of the first frame in ms: the time that gives the best overlap of received and true boxes. Null while there
 * are too few matches (`least`).
 */
export function findStart(
  messages: readonly ReceivedMessage[],
  { fps, lens, frames }: Truth,
  least = 12,
): number | null {
  const used = messages.filter(({ active_tracks }) => active_tracks.length > 0).slice(0, MAX_MESSAGES);
  const first = used[0];
  if (first === undefined) return null;
  let best = { startMs: 0, score: 0 };
  for (let index = 0; index < Math.min(frames.length, LATEST_SECONDS * fps); index++) {
    const startMs = timeOf(first) - (index * 1000) / fps;
    const score = used.reduce((sum, message) => {
      const frame = frames[Math.round(((timeOf(message) - startMs) * fps) / 1000)];
      return sum + (frame === undefined ? 0 : pair(message.active_tracks, frame, lens).reduce(addOverlap, 0));
    }, 0);
    if (score > best.score) best = { startMs, score };
  }
  return best.score >= least * LEAST_OVERLAP ? best.startMs : null;
}

interface Pair {
  readonly entry: TrackEntry;
  readonly target: TrueTarget;
  readonly overlap: number;
}

const addOverlap = (sum: number, { overlap }: Pair): number => sum + overlap;

/** Matches received objects with true cars. */
function pair(entries: readonly TrackEntry[], { targets }: TrueFrame, lens: Truth["lens"]): readonly Pair[] {
  const pairs = entries
    .flatMap((entry) =>
      targets.map((target) => ({ entry, target, overlap: overlapOf(entry.bbox, clip(target.box, lens)) })),
    )
    .filter(({ overlap }) => overlap >= LEAST_OVERLAP)
    .sort((a, b) => b.overlap - a.overlap);
  const taken = new Set<unknown>();
  return pairs.filter(({ entry, target }) => {
    if (taken.has(entry) || taken.has(target)) return false;
    taken.add(entry).add(target);
    return true;
  });
}

/** Every received position of a car. */
export function evaluate(messages: readonly ReceivedMessage[], truth: Truth, startMs: number): readonly Finding[] {
  return messages.flatMap((message) => {
    const frame = truth.frames[Math.round(((timeOf(message) - startMs) * truth.fps) / 1000)];
    if (frame === undefined) return [];
    return pair(message.active_tracks, frame, truth.lens).flatMap(({ entry, target }) => {
      const { latitude, longitude } = entry;
      if (latitude === undefined || longitude === undefined) return [];
      const [east, north] = toEnu({ latitude, longitude });
      const [realEast, realNorth] = toEnu(target);
      return [
        {
          seconds: frame.seconds,
          trueId: target.id,
          trackId: entry.track_id,
          real: [realEast, realNorth] as const,
          found: [east, north] as const,
          errorM: Math.hypot(east - realEast, north - realNorth),
          statedErrorM: entry.position_error_m ?? null,
          ageMs: message.telemetry_age_ms ?? null,
        },
      ];
    });
  });
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const errorsOf = (findings: readonly Finding[]): readonly number[] => findings.map(({ errorM }) => errorM);

/** A summary in one line. */
export function summarize(findings: readonly Finding[]): string {
  const errors = errorsOf(findings);
  const [median, p90] = [quantile(errors, 0.5), quantile(errors, 0.9)].map((metres) => metres.toFixed(2));
  const within = findings.filter(
    ({ errorM, statedErrorM }) => statedErrorM !== null && errorM <= 2 * statedErrorM,
  ).length;
  const withinShare = ((within / Math.max(1, findings.length)) * 100).toFixed(0);
  return `${findings.length} positions, median error ${median} m, 90 % within ${p90} m; ${withinShare} % within twice the estimated error`;
}

function clip([left, top, width, height]: Box, lens: Truth["lens"]): Box {
  const [x, y] = [Math.max(0, left), Math.max(0, top)];
  return [x, y, Math.min(left + width, lens.width) - x, Math.min(top + height, lens.height) - y];
}

function overlapOf(a: Box, b: Box): number {
  const wide = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const high = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  if (wide <= 0 || high <= 0) return 0;
  return (wide * high) / (a[2] * a[3] + b[2] * b[3] - wide * high);
}

/** The findings of the last whole spans of the flight. */
export function takeSpans(findings: readonly Finding[], span: number): readonly Finding[] {
  const times = findings.map(({ seconds }) => seconds);
  const last = Math.max(...times);
  const whole = Math.floor((last - Math.min(...times)) / span) * span;
  return findings.filter(({ seconds }) => seconds > last - whole);
}
