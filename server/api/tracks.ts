/** What a process has seen: its track report, and the same for maps and tables. */
import type { Static } from "typebox";
import {
  DeletedReport,
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
import type { Signer } from "../keys/signed-urls.ts";
import type { ProcessRecordings } from "../media/recordings/recording-files.ts";
import type { Processes } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  deleteReport,
  findReported,
  listTracked,
  type ReportedProcess,
  type TrackedRow,
} from "../store/track-reports.ts";
import { exportTracks } from "../tracks/export-tracks.ts";
import { chooseWindow, readReportCursor, reportTracks } from "../tracks/report-tracks.ts";
import type { TrackLog } from "../tracks/track-log.ts";
import type { User } from "../user.ts";
import { acceptsGzip } from "./answers.ts";
import { type AnswerShape, type AnyEndpoint, defineEndpoint } from "./endpoint.ts";
import { describeFiles } from "./recordings.ts";
import { sendPieces, startPieces } from "./send-file.ts";

interface TrackNeeds {
  readonly sql: Sql;
  readonly config: Config["report"];
  readonly processes: Pick<Processes, "expectOffer">;
  readonly tracks: Pick<TrackLog, "flush">;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
}

type Query = Static<typeof TracksQuery>;

/** What was told in the last moment is worth so long a wait, but no failure. */
const FLUSH_MS = 2_000;
const PATH = "/process/{process_uuid}/tracks";
const tag = "Track reports";
const access = "key";

const ABOUT =
  "Of processes whose key had the track logger when they started. The report of a process that runs tells of the last minutes (`report.window_minutes`, 5 unless configured), that of one that has ended of all of it. `limit` and `cursor` page it, by the ids of the tracks; without them it is whole. Streamed: a long process makes a long answer, and pictures make up most of it (`patches=false` leaves them out). Other formats have all tracks, whatever the window. Paths are thinned: a point every second, and sooner when the object has moved more than two metres and than the error of its place (properties of the element `report`).";

export function trackEndpoints(needs: TrackNeeds): readonly AnyEndpoint[] {
  const { sql, config, tracks } = needs;
  const shared = { path: PATH, tag, access, description: ABOUT } as const;
  const read = (method: "GET" | "POST", id: string, summary: string) =>
    defineEndpoint({
      ...{ ...shared, method, id, summary },
      query: TracksQuery,
      answers: { 200: TRACKS_ANSWER },
      errors: ["process_not_found", "report_not_found", "graph_lacks"],
      async handle({ user, params, query, raw, headers: asked, log }) {
        const process = await expectReported(sql, user, params.process_uuid ?? "");
        const isActive = !isEnded(process);
        if (isActive) await expectReport(needs.processes, user, process.uuid);
        const { headers, make } = choose(needs, process, query, isActive);
        if (raw.method === "HEAD") return new Response(null, { headers });
        await withTimeout(FLUSH_MS, tracks.flush()).catch(() => {});
        const isPacked = acceptsGzip(asked.get("accept-encoding") ?? undefined);
        // Before anything is promised: a database that is away is still an answer of its own.
        const pieces = await startPieces(make(), isPacked);
        const onFault = (error: unknown) => log.warn({ err: error }, "an answer with tracks broke off");
        return new Response(sendPieces(pieces, { raw, stallMs: needs.stallMs, onFault }), {
          headers: { ...headers, ...(isPacked && { "Content-Encoding": "gzip" }) },
        });
      },
    });
  return [
    read("GET", "readTracks", "The track report of a process, or its tracks as GeoJSON, KML or CSV"),
    read("POST", "postTracks", "The same as with GET"),
    defineEndpoint({
      ...{ path: PATH, tag, access, method: "DELETE", id: "deleteTracks" },
      summary: "Deletes the track report of a process",
      description:
        "Tracks, their paths and their pictures. Of a process that has ended there is no report any more. Of one that runs, what was seen so far is gone, and the report goes on with what is seen from now on; what is on the picture then comes again with it.",
      answers: { 200: { description: "Deleted.", schema: DeletedReport } },
      errors: ["process_not_found", "report_not_found"],
      async handle({ user, params }) {
        const process = await expectReported(sql, user, params.process_uuid ?? "");
        // What was told before must not be written after.
        await tracks.flush();
        await deleteReport(sql, process.uuid, { isEnded: isEnded(process), most: config.batch_points });
        return { status: 200, body: { process_uuid: process.uuid, deleted: true } };
      },
    }),
  ];
}

const isEnded = ({ state }: ReportedProcess): boolean => state === "finished" || state === "failed";

/** Throws `ServiceError` before anything is read. */
function choose({ sql, config }: TrackNeeds, process: ReportedProcess, query: Query, isActive: boolean) {
  const { uuid: processUuid } = process;
  const shared = { "Cache-Control": "private, no-store", Vary: "Accept-Encoding" };
  if (query.format !== "json") {
    const format = TRACKS_FORMATS[query.format];
    const headers = {
      "Content-Type": format.mediaType,
      "Content-Disposition": `attachment; filename="tracks-${processUuid}.${format.extension}"`,
      ...shared,
    };
    const origin = { title: process.sourceUrl, processUuid };
    return { headers, make: () => exportTracks(sql, { processUuid, origin, format, isActive }) };
  }
  const reportTimeMs = Date.now();
  const window = chooseWindow(process, {
    ...{ nowMs: reportTimeMs, isActive, mostMinutes: config.window_minutes },
    asked: query.window_minutes ?? null,
  });
  const order = {
    ...{ processUuid, reportTimeMs, isActive, withPatches: query.patches },
    ...{ after: readAfter(query.cursor), limit: query.limit ?? null, ...window },
  };
  return { headers: { "Content-Type": "application/json", ...shared }, make: () => reportTracks(sql, order) };
}

function readAfter(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const after = readReportCursor(cursor);
  if (after !== null) return after;
  const message = "expected the `next_cursor` of an earlier answer; leave it out to begin at the first page";
  throw new ServiceError("invalid_input", { detail: `cursor: ${message}`, errors: [{ path: "cursor", message }] });
}

/** One of another user's is one that is not there. */
export async function expectReported(sql: Sql, user: User, uuid: string): Promise<ReportedProcess> {
  const process = await findReported(sql, user.uuid, uuid);
  if (process === null)
    throw new ServiceError("process_not_found", {
      detail: `there is no process ${uuid}; GET /processes?state=all lists yours`,
    });
  if (!process.hasTrackLogger)
    throw new ServiceError("report_not_found", {
      detail: `the key of the process ${uuid} had no track logger when it was started; GET /user_info tells whether it has one`,
    });
  if (process.reportDeletedAt !== null)
    throw new ServiceError("report_not_found", {
      detail: `the report of the process ${uuid} was deleted at ${process.reportDeletedAt.toISOString()}`,
    });
  return process;
}

/** Of one that is just being taken up, or ends in this very moment, nobody can tell; then it has what there is. */
async function expectReport(processes: TrackNeeds["processes"], user: User, uuid: string): Promise<void> {
  try {
    await processes.expectOffer(user, uuid, "report");
  } catch (error) {
    if (error instanceof ServiceError && error.code === "graph_lacks") throw error;
  }
}

/** Which processes have a track report. */

interface TrackedNeeds {
  readonly sql: Sql;
  readonly recordings: Pick<ProcessRecordings, "list">;
  readonly signer: Pick<Signer, "sign">;
}

export function trackedProcessEndpoints({ sql, recordings, signer }: TrackedNeeds): readonly AnyEndpoint[] {
  const findVideo = async ({ uuid }: TrackedRow, { hasRecording }: User, publicUrl: string): Promise<string | null> => {
    if (!hasRecording) return null;
    const [first] = describeFiles(await recordings.list(uuid), uuid, signer, publicUrl);
    return first?.download_url ?? null;
  };
  return [
    defineEndpoint({
      method: "GET",
      path: "/tracked_processes",
      tag: "Track reports",
      id: "listTrackedProcesses",
      summary: "Lists your processes that have a track report",
      description:
        "Those whose key had the track logger when they started and whose report was not deleted, with the processed video of keys with process recording. Tracks are kept for `report.retention_days`, also of processes that run.",
      access: "key",
      query: TrackedQuery,
      answers: { 200: { description: "Newest first.", schema: TrackedListing } },
      errors: [],
      async handle({ user, query, publicUrl }) {
        const { rows, nextCursor } = await listTracked(sql, user.uuid, query);
        const listed = [];
        for (const row of rows) listed.push(describe(row, await findVideo(row, user, publicUrl)));
        return { status: 200, body: { tracked_processes: listed, ...(nextCursor && { next_cursor: nextCursor }) } };
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

/** What `GET /process/{process_uuid}/tracks` answers with, for the document: written by the formats themselves. */

const PROCESS = "01890000-0000-7000-8000-000000000001";
const BEGAN_MS = 1_700_000_000_000;

const SAMPLE: WholeTrack = {
  ...{ id: 7, classId: 2, className: "car", isLive: false, box: [480, 540, 240, 270] },
  ...{ firstSeenMs: BEGAN_MS, lastSeenMs: BEGAN_MS + 1000, sightings: 25 },
  confidence: { best: 0.91, mean: 0.83, least: 0.62 },
  points: [0, 1].map((second) => ({
    timeMs: BEGAN_MS + second * 1000,
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
  const patch = { timeMs: BEGAN_MS, confidence: 0.91, jpeg: "/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==" };
  const track = JSON.parse(beginEntry({ ...SAMPLE, firstSpot, lastSpot }) + endEntry(patch, null));
  return { process_uuid: PROCESS, report_time: BEGAN_MS / 1000 + 2, time_window_minutes: 5, tracks: [track] };
}

const typeOf = (name: keyof typeof TRACKS_FORMATS): string => TRACKS_FORMATS[name].mediaType.split(";")[0] ?? "";

export const TRACKS_ANSWER: AnswerShape = {
  description: "The report, or the file.",
  schema: TrackReportRecord,
  otherTypes: [typeOf("geojson"), typeOf("kml"), typeOf("csv")],
  otherSchemas: { [typeOf("geojson")]: TrackCollection },
  examples: {
    "application/json": sampleReport(),
    [typeOf("geojson")]: JSON.parse(sampleOf("geojson")),
    [typeOf("kml")]: sampleOf("kml"),
    [typeOf("csv")]: sampleOf("csv"),
  },
};
