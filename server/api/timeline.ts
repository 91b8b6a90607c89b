/** Time lines of sources. */
import type { Static } from "typebox";
import { Timeline, TimelineQuery, type TRUNCATED_PARTS } from "../../schemas/api/timeline.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findSource, type SourceRow } from "../store/sources.ts";
import {
  type AnalysedRow,
  listActivity,
  listAnalysed,
  listMarks,
  listProcessMarks,
  listRecordedSpans,
  listTracks,
  type MarkedNotice,
  MOST,
  type ProcessWindow,
  type Span,
} from "../store/timeline.ts";
import { type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";

const define = defineEndpoints("Sources");

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Files that are closer follow one another: a player would not notice. */
const JOINED_MS = 2_000;
/** Of activity: pauses that a screen can show, and parts whose number of tracks it can show. */
const PAUSES = 600;
const PARTS = 96;

export const timelineEndpoints = (sql: Sql): readonly AnyEndpoint[] => [
  define("GET", "/source/{source_uuid}/timeline", "readTimeline", {
    summary: "Get what happened on a source: recorded times, processes, tracks and notices of alerts",
    description:
      "For a time line, of a week at most. Its size is bounded: `activity` merges tracks to what a screen can show, and `tracks` lists them for shorter ranges. Times of a stream are those of its frames. A file source is analysed anew by each process: its times are seconds from the start of the video, and the results of all processes are on the same time line. A file that is played as a live source (`loop`) has times of day and no recorded ranges.",
    query: TimelineQuery,
    answers: { 200: { description: "The time line.", schema: Timeline } },
    errors: ["source_not_found"],
    async handle({ user, params, query }) {
      const { source_uuid: sourceUuid } = params;
      const owner = { userUuid: user.uuid, sourceUuid };
      const source = await findSource(sql, user.uuid, sourceUuid).catch(orDeleted);
      const isFile = source?.type === "file" && !source.loop;
      const range = isFile ? readSeconds(query, source) : readTimes(query);
      const found = isFile ? await readFile(sql, owner, range, source) : await readStream(sql, owner, range);
      // Recordings and notices are kept when their source is deleted.
      if (source === null && found.recorded.length + found.analysed.length + found.notices.length === 0)
        await findSource(sql, user.uuid, sourceUuid);
      const resolutionMs = Math.max(1000, Math.ceil((range.toMs - range.fromMs) / PAUSES));
      const activity = await listActivity(sql, found.windows, {
        resolutionMs,
        partMs: Math.max(resolutionMs, (range.toMs - range.fromMs) / PARTS),
      });
      const total = activity[0]?.total ?? 0;
      const tracks = total === 0 || total > MOST.listedTracks ? [] : await listTracks(sql, found.windows);
      const show = isFile ? (ms: number) => ms / 1000 : (ms: number) => new Date(ms).toISOString();
      return ok(describe({ ...found, sourceUuid, range, resolutionMs, activity, total, tracks, isFile }, show));
    },
  }),
];

function orDeleted(error: unknown): null {
  if (error instanceof ServiceError && error.code === "source_not_found") return null;
  throw error;
}

type Query = Static<typeof TimelineQuery>;
type Owner = Readonly<Record<"userUuid" | "sourceUuid", string>>;

const SECONDS = /^\d+(\.\d+)?$/;

function readTimes({ from, to }: Query): Span {
  const read = (path: "from" | "to", text: string): number => {
    const ms = SECONDS.test(text) ? Number.NaN : Date.parse(text);
    if (Number.isFinite(ms)) return ms;
    throw invalidInput([
      { path, message: "is not a time; expected ISO 8601 for this source, as in 2026-05-17T08:30:00Z" },
    ]);
  };
  const toMs = to === undefined ? Date.now() : read("to", to);
  return expectRange({ fromMs: from === undefined ? toMs - DAY_MS : read("from", from), toMs });
}

function readSeconds({ from = "0", to }: Query, { durationMs }: SourceRow): Span {
  const read = (path: "from" | "to", text: string): number => {
    if (SECONDS.test(text)) return Number(text) * 1000;
    throw invalidInput([
      { path, message: "is not a number; expected seconds from the start of the video for a file source" },
    ]);
  };
  const fromMs = read("from", from);
  const toMs = to === undefined ? Math.max(durationMs ?? 0, fromMs + 1000) : read("to", to);
  return expectRange({ fromMs, toMs });
}

function expectRange(range: Span): Span {
  const { fromMs, toMs } = range;
  if (toMs > fromMs && toMs - fromMs <= WEEK_MS) return range;
  throw invalidInput([{ path: "to", message: "is out of range; expected a time after `from`, at most a week later" }]);
}

interface Found {
  readonly recorded: readonly Span[];
  readonly analysed: readonly AnalysedRow[];
  readonly windows: readonly ProcessWindow[];
  readonly notices: readonly MarkedNotice[];
}

async function readStream(sql: Sql, owner: Owner, { fromMs, toMs }: Span): Promise<Found> {
  const times = { from: new Date(fromMs), to: new Date(toMs) };
  const [recorded, analysed, notices] = await Promise.all([
    listRecordedSpans(sql, { ...owner, ...times }),
    listAnalysed(sql, owner, times),
    listMarks(sql, { ...owner, ...times }),
  ]);
  const windows = analysed.slice(0, MOST.processes).map(({ uuid }) => ({ uuid, fromMs, toMs, zeroMs: 0 }));
  return { recorded, analysed, windows, notices };
}

/** Its processes began at different times with the first frame. */
async function readFile(sql: Sql, owner: Owner, { fromMs, toMs }: Span, { durationMs }: SourceRow): Promise<Found> {
  const analysed = await listAnalysed(sql, owner, null);
  const windows = analysed.slice(0, MOST.processes).map(({ uuid, startedAt }) => {
    const zeroMs = startedAt.getTime();
    return { uuid, zeroMs, fromMs: zeroMs + fromMs, toMs: zeroMs + toMs };
  });
  const notices = windows.length === 0 ? [] : await listProcessMarks(sql, owner.userUuid, windows);
  const endMs = Math.min(toMs, durationMs ?? 0);
  return { recorded: endMs > fromMs ? [{ fromMs, toMs: endMs }] : [], analysed, windows, notices };
}

interface Facts extends Found {
  readonly sourceUuid: string;
  readonly range: Span;
  readonly isFile: boolean;
  readonly resolutionMs: number;
  readonly activity: Awaited<ReturnType<typeof listActivity>>;
  /** Number of tracks. */
  readonly total: number;
  readonly tracks: Awaited<ReturnType<typeof listTracks>>;
}

function describe(facts: Facts, show: (ms: number) => string | number): Timeline {
  const { range, recorded, analysed, notices, activity, total, tracks, isFile } = facts;
  const both = ({ fromMs, toMs }: Span) => ({ from: show(fromMs), to: show(toMs) });
  const zeroOf = ({ startedAt }: AnalysedRow) => (isFile ? startedAt.getTime() : 0);
  const isTruncated: Readonly<Record<(typeof TRUNCATED_PARTS)[number], boolean>> = {
    recorded: recorded.length > MOST.segments,
    processes: analysed.length > MOST.processes,
    activity: total > MOST.tracks || activity.some(({ rank }) => rank > MOST.classes),
    tracks: total > MOST.listedTracks,
    notices: notices.length > MOST.notices,
  };
  return {
    source_uuid: facts.sourceUuid,
    ...both(range),
    recorded: joinSpans(recorded.slice(0, MOST.segments), range).map(both),
    processes: analysed.slice(0, MOST.processes).map((row) => ({
      process_uuid: row.uuid,
      from: show(row.startedAt.getTime() - zeroOf(row)),
      to: row.finishedAt === null ? null : show(row.finishedAt.getTime() - zeroOf(row)),
      state: row.state,
    })),
    resolution_seconds: facts.resolutionMs / 1000,
    activity: activity
      .filter(({ rank }) => rank <= MOST.classes)
      .map((row) => ({ class_name: row.className, ...both(row), tracks: row.tracks })),
    tracks: tracks.map((row) => ({
      ...{ process_uuid: row.processUuid, track_id: row.trackId, class_name: row.className },
      ...both(row),
    })),
    notices: notices
      .slice(0, MOST.notices)
      .toReversed()
      .map(({ atMs, isReviewed, ...row }) => ({
        ...{ uuid: row.uuid, alert_uuid: row.alertUuid, alias: row.alias, process_uuid: row.processUuid },
        ...{ at: show(atMs), event: row.event, classes: [...row.classes], reviewed: isReviewed },
      })),
    truncated: Object.entries(isTruncated).flatMap(([part, is]) => (is ? [part as keyof typeof isTruncated] : [])),
  };
}

/** Within the range; `spans` are in order of time. */
function joinSpans(spans: readonly Span[], range: Span): readonly Span[] {
  const joined: Span[] = [];
  for (const span of spans) {
    const [fromMs, toMs] = [Math.max(span.fromMs, range.fromMs), Math.min(span.toMs, range.toMs)];
    const last = joined.at(-1);
    if (last !== undefined && fromMs - last.toMs <= JOINED_MS)
      joined[joined.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, toMs) };
    else if (toMs > fromMs) joined.push({ fromMs, toMs });
  }
  return joined;
}
