/** Track reports: the tracks of a process as a report, GeoJSON, KML or CSV, and their enhancement. */
import type { Static } from "typebox";
import {
  DeletedReport,
  EnhancementStarted,
  EnhancementState,
  TrackCollection,
  TrackedListing,
  TrackedQuery,
  TrackReportRecord,
  TracksQuery,
} from "../../schemas/api/track-reports.ts";
import type { Config } from "../../schemas/config.ts";
import type { WholeTrack } from "../../tracks/format.ts";
import { TRACKS_FORMATS } from "../../tracks/formats.ts";
import { beginEntry, endEntry } from "../../tracks/report-entry.ts";
import { withTimeout } from "../async/timing.ts";
import type { Enhancements } from "../enhancement/enhancements.ts";
import type { Signer } from "../keys/signed-urls.ts";
import type { ProcessRecordings } from "../media/recordings/recording-files.ts";
import type { Processes } from "../processes/processes.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { type EnhancementRow, findEnhancement } from "../store/enhancements.ts";
import { invalidCursor } from "../store/page.ts";
import {
  deleteReport,
  findReported,
  listTracked,
  type ReportedProcess,
  type TrackedRow,
} from "../store/track-reports.ts";
import type { Corner, TrackFilter } from "../store/tracks.ts";
import { exportTracks } from "../tracks/export-tracks.ts";
import { chooseWindow, readReportCursor, reportTracks } from "../tracks/report-tracks.ts";
import type { TrackLog } from "../tracks/track-log.ts";
import type { User } from "../user.ts";
import { acceptsGzip } from "./answers.ts";
import { type AnswerShape, type AnyEndpoint, defineEndpoints, listing, ok, rangeOf } from "./endpoint.ts";
import { processNotFound } from "./processes.ts";
import { describeFiles } from "./recordings.ts";
import { sendPieces, startPieces } from "./send-file.ts";

interface TrackDeps {
  readonly sql: Sql;
  readonly config: Config["report"];
  readonly processes: Pick<Processes, "expectOffer">;
  readonly tracks: Pick<TrackLog, "flush">;
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

type Query = Static<typeof TracksQuery>;

/** How long a report waits for tracks that are not written yet; then it is made without them. */
const FLUSH_MS = 2_000;
/** Maximum number of points and tracks that are deleted in one transaction. */
const DELETED_AT_ONCE = 5_000;
const PATH = "/process/{process_uuid}/tracks";
const define = defineEndpoints("Track reports");

const READ_DESCRIPTION =
  "For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`).";

export function trackEndpoints(deps: TrackDeps): readonly AnyEndpoint[] {
  const { sql, tracks } = deps;
  const read = define("GET", PATH, "readTracks", {
    summary: "Get the track report of a process, or its tracks as GeoJSON, KML or CSV",
    description: READ_DESCRIPTION,
    query: TracksQuery,
    answers: { 200: TRACKS_ANSWER },
    errors: ["process_not_found", "report_not_found", "graph_lacks"],
    async handle({ user, params, query, raw, log }) {
      const process = await expectReported(sql, user, params.process_uuid);
      const isActive = !isEnded(process);
      if (isActive) await expectReportElement(deps.processes, user, process.uuid);
      const { headers, make } = chooseFormat(deps, process, query, isActive);
      if (raw.method === "HEAD") return new Response(null, { headers });
      await withTimeout(FLUSH_MS, tracks.flush()).catch(() => {});
      const isGzip = acceptsGzip(raw.headers["accept-encoding"]);
      // Before the status is sent: if the database is unavailable, the answer is an error.
      const pieces = await startPieces(make(), isGzip);
      const onFault = (error: unknown) => log.warn({ err: error }, "track report aborted");
      return new Response(sendPieces(pieces, { raw, stallMs: deps.stallMs, onFault }), {
        headers: { ...headers, ...(isGzip && { "Content-Encoding": "gzip" }) },
      });
    },
  });
  return [
    read,
    { ...read, method: "POST", id: "postTracks", summary: "Same as GET" },
    define("DELETE", PATH, "deleteTracks", {
      summary: "Delete the track report of a process",
      description:
        "Deletes the tracks with their paths and images. A process that has ended then has no report. The report of a running process continues with new detections; objects that are still visible appear in it again.",
      answers: { 200: { description: "Deleted.", schema: DeletedReport } },
      errors: ["process_not_found", "report_not_found"],
      async handle({ user, params }) {
        const process = await expectReported(sql, user, params.process_uuid);
        // Tracks received before the request must not be written after it.
        await tracks.flush();
        await deleteReport(sql, process.uuid, { isEnded: isEnded(process), most: DELETED_AT_ONCE });
        return ok({ process_uuid: process.uuid, deleted: true });
      },
    }),
  ];
}

const isEnded = ({ state }: ReportedProcess): boolean => state === "finished" || state === "failed";

/** Throws `ServiceError` before anything is read from the database. */
function chooseFormat({ sql, config }: TrackDeps, process: ReportedProcess, query: Query, isActive: boolean) {
  const { uuid: processUuid } = process;
  const filter = readFilter(query);
  const shared = { "Cache-Control": "private, no-store", Vary: "Accept-Encoding" };
  if (query.format !== "json") {
    const format = TRACKS_FORMATS[query.format];
    const headers = {
      "Content-Type": format.mediaType,
      "Content-Disposition": `attachment; filename="tracks-${processUuid}.${format.extension}"`,
      ...shared,
    };
    const origin = { title: process.sourceUrl, processUuid };
    return { headers, make: () => exportTracks(sql, { processUuid, origin, format, isActive, filter }) };
  }
  const reportTimeMs = Date.now();
  const window = chooseWindow(process, {
    ...{ nowMs: reportTimeMs, isActive, mostMinutes: config.window_minutes },
    asked: query.window_minutes ?? null,
  });
  const order = {
    ...{ processUuid, reportTimeMs, isActive, withPatches: query.patches },
    ...{ after: readAfter(query.cursor), limit: query.limit ?? null, ...window },
    ...{ filter, isDescending: query.sort === "-track_id" },
  };
  return { headers: { "Content-Type": "application/json", ...shared }, make: () => reportTracks(sql, order) };
}

function readAfter(cursor: string | undefined): number | null {
  const after = cursor === undefined ? null : readReportCursor(cursor);
  if (cursor !== undefined && after === null) throw invalidCursor();
  return after;
}

/** Throws `invalid_input`. */
function readFilter(query: Query): TrackFilter {
  const { class: className, zone, geo_zone: geoZone } = query;
  const read = (path: string, text: string | undefined): readonly Corner[] | undefined => {
    if (text === undefined) return undefined;
    const numbers = text.split(",").map(Number);
    if (numbers.length % 2 === 1)
      throw invalidInput([{ path, message: `has ${numbers.length} numbers; expected pairs: x,y,x,y,…` }]);
    return numbers.flatMap((x, i) => (i % 2 === 0 ? [[x, numbers[i + 1] ?? 0]] : []));
  };
  return { className, visible: rangeOf(query), zone: read("zone", zone), geoZone: read("geo_zone", geoZone) };
}

/** A process of another user is reported as not found. */
async function expectReported(sql: Sql, user: User, uuid: string): Promise<ReportedProcess> {
  const process = await findReported(sql, user.uuid, uuid);
  if (process === null) throw processNotFound(uuid);
  if (process.hasTrackLogger && process.reportDeletedAt === null) return process;
  throw new ServiceError("report_not_found", {
    detail: process.hasTrackLogger
      ? `the report of process ${uuid} was deleted at ${process.reportDeletedAt?.toISOString()}`
      : `the key of process ${uuid} had no track logger when the process was started; GET /user_info says whether it has one`,
  });
}

/** Rejects if the graph has no `report` element. A process that is just starting or ending cannot be asked: it passes. */
async function expectReportElement(processes: TrackDeps["processes"], user: User, uuid: string): Promise<void> {
  try {
    await processes.expectOffer(user, uuid, "report");
  } catch (error) {
    if (error instanceof ServiceError && error.code === "graph_lacks") throw error;
  }
}

export function trackedProcessEndpoints(
  sql: Sql,
  recordings: Pick<ProcessRecordings, "list">,
  signer: Pick<Signer, "sign">,
): readonly AnyEndpoint[] {
  const findVideo = async ({ uuid }: TrackedRow, { hasRecording }: User, publicUrl: string): Promise<string | null> => {
    if (!hasRecording) return null;
    const [first] = describeFiles(await recordings.list(uuid), uuid, signer, publicUrl);
    return first?.download_url ?? null;
  };
  return [
    define("GET", "/tracked_processes", "listTrackedProcesses", {
      summary: "List your processes that have a track report",
      sources: "listed",
      description:
        "Processes whose key had the track logger when they started and whose report was not deleted; for keys with process recording, with the processed video. Tracks are kept for `report.retention_days`, also those of running processes.",
      query: TrackedQuery,
      answers: { 200: { description: "Newest first.", schema: TrackedListing } },
      async handle({ user, query, publicUrl }) {
        const { source_uuid: sourceUuid, ...rest } = query;
        const request = { ...rest, sourceUuid, created: rangeOf(query) };
        const { rows, nextCursor } = await listTracked(sql, user.uuid, request);
        const records: object[] = [];
        for (const row of rows) records.push(describe(row, await findVideo(row, user, publicUrl)));
        return listing("tracked_processes", { rows: records, nextCursor });
      },
    }),
  ];
}

const describe = (row: TrackedRow, videoUrl: string | null) => ({
  ...{ uuid: row.uuid, process_uuid: row.uuid, source_uuid: row.sourceUuid, alias: row.alias },
  started_at: row.startedAt?.toISOString() ?? null,
  finished_at: row.finishedAt?.toISOString() ?? null,
  track_count: row.trackCount,
  enhancement: row.enhancement,
  video_url: videoUrl,
});

export function enhancementEndpoints(
  sql: Sql,
  enhancements: Pick<Enhancements, "start">,
  tracks: Pick<TrackLog, "flush">,
): readonly AnyEndpoint[] {
  const status = define("GET", "/decorate_tracks/{process_uuid}/status", "readEnhancement", {
    summary: "Get the status of the enhancement",
    description: "FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results.",
    answers: { 200: { description: "Status and progress.", schema: EnhancementState } },
    errors: ["process_not_found", "report_not_found", "enhancement_not_found"],
    async handle({ user, params }) {
      const { uuid } = await expectReported(sql, user, params.process_uuid);
      const enhancement = await findEnhancement(sql, uuid);
      if (enhancement !== null) return ok(describeEnhancement(enhancement));
      throw new ServiceError("enhancement_not_found", {
        detail: `no enhancement was started for this process; start one with POST /decorate_tracks/${uuid}`,
      });
    },
  });
  return [
    define("POST", "/decorate_tracks/{process_uuid}", "enhanceTracks", {
      summary: "Start the enhancement of the report of a finished process",
      description:
        "Every track gets `enhanced_data`: type, colour and licence plate of vehicles, clothing colours of people, attributes of flying objects; null where the image does not show it. While an enhancement runs, another request changes nothing; after that it starts a new one. The event `enhancement-finished` or `enhancement-failed` (`GET /events`) says when it has ended. Rejected when the running processes and enhancements of the key reach its process limit. An enhancement prevents no process from starting and uses no minutes.",
      answers: { 200: { description: "The enhancement runs.", schema: EnhancementStarted } },
      errors: [
        ...(["enhancement_not_enabled", "processes_limit_reached", "usage_limit_reached"] as const),
        ...(["process_not_found", "report_not_found", "wrong_state", "enhancement_failed"] as const),
      ],
      async handle({ user, params }) {
        if (!user.hasEnhancement)
          throw new ServiceError("enhancement_not_enabled", {
            detail: "enhancement is not enabled for this key; ask the operator for a key with enhancement",
          });
        const process = await expectReported(sql, user, params.process_uuid);
        if (!isEnded(process))
          throw new ServiceError("wrong_state", {
            detail: `the process is ${process.state}; its report can be enhanced once it has finished`,
          });
        await withTimeout(FLUSH_MS, tracks.flush()).catch(() => {});
        await enhancements.start(user, process.uuid);
        return ok({ process_uuid: process.uuid });
      },
    }),
    status,
    { ...status, method: "POST", id: "askForEnhancement" },
  ];
}

function describeEnhancement({ status, fault, done, total }: EnhancementRow) {
  const progress = status === "FINISHED" ? 1 : total === 0 ? 0 : Math.min(1, done / total);
  const counted = `${done} of ${Math.max(done, total)} tracks`;
  return { status, progress, detail: status === "FAILED" ? `${counted}; ${fault}` : counted };
}

/** Examples of `GET /process/{process_uuid}/tracks` for the OpenAPI document, written by the formats themselves. */
const PROCESS = "01890000-0000-7000-8000-000000000001";
const START_MS = 1_700_000_000_000;

const SAMPLE: WholeTrack = {
  ...{ id: 7, classId: 2, className: "car", isLive: false, box: [480, 540, 240, 270] },
  ...{ firstSeenMs: START_MS, lastSeenMs: START_MS + 1000, sightings: 25 },
  confidence: { best: 0.91, mean: 0.83, least: 0.62 },
  points: [0, 1].map((second) => ({
    timeMs: START_MS + second * 1000,
    confidence: 0.83,
    box: [400 + 80 * second, 540, 240, 270],
    spot: {
      ...{ latitude: 48.1372 + second * 0.0001, longitude: 11.5755, altitude: 519.2, errorM: 1.4 },
      ...{ speedMps: 11.1, heading: 0 },
    },
  })),
};

function sampleOf(name: keyof typeof TRACKS_FORMATS): string {
  const { writeHead, writeTrack, writeFoot } = TRACKS_FORMATS[name];
  return writeHead({ title: "rtsp://camera/main", processUuid: PROCESS }) + writeTrack(SAMPLE, true) + writeFoot();
}

function sampleReport(): unknown {
  const [firstSpot = null, lastSpot = null] = SAMPLE.points.map(({ timeMs, spot }) => spot && { ...spot, timeMs });
  const patch = { timeMs: START_MS, confidence: 0.91, jpeg: "/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==" };
  const track = JSON.parse(beginEntry({ ...SAMPLE, firstSpot, lastSpot }) + endEntry(patch, null));
  return { process_uuid: PROCESS, report_time: START_MS / 1000 + 2, time_window_minutes: 5, tracks: [track] };
}

const typeOf = (name: keyof typeof TRACKS_FORMATS): string => TRACKS_FORMATS[name].mediaType.split(";")[0] ?? "";

const TRACKS_ANSWER: AnswerShape = {
  description: "The report, or the tracks in the chosen format.",
  schema: TrackReportRecord,
  example: sampleReport(),
  others: {
    [typeOf("geojson")]: { schema: TrackCollection, example: JSON.parse(sampleOf("geojson")) },
    [typeOf("kml")]: { example: sampleOf("kml") },
    [typeOf("csv")]: { example: sampleOf("csv") },
  },
};
