/** What a process has seen, for maps and tables. */
import type { IncomingMessage } from "node:http";
import { TrackCollection, TracksQuery } from "../../schemas/api/tracks.ts";
import type { WholeTrack } from "../../tracks/format.ts";
import { TRACKS_FORMATS } from "../../tracks/formats.ts";
import type { Processes } from "../processes/processes.ts";
import { within } from "../processes/within.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findProcess, type ProcessView } from "../store/processes.ts";
import { streamBody } from "../streams/body.ts";
import { exportTracks } from "../tracks/export-tracks.ts";
import type { TrackLog } from "../tracks/track-log.ts";
import type { User } from "../user.ts";
import { type AnswerShape, type AnyEndpoint, defineEndpoint } from "./endpoint.ts";

interface TrackNeeds {
  readonly sql: Sql;
  readonly processes: Pick<Processes, "expectOffer">;
  readonly tracks: Pick<TrackLog, "flush">;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
}

/** What was told in the last moment is worth so long a wait, but no failure. */
const FLUSH_MS = 2_000;

export function trackEndpoints({ sql, processes, tracks, stallMs }: TrackNeeds): readonly AnyEndpoint[] {
  return [
    defineEndpoint({
      method: "GET",
      path: "/process/{process_uuid}/tracks",
      tag: "Track reports",
      id: "exportTracks",
      summary: "All tracks of a process as GeoJSON, KML or CSV",
      description:
        "Of processes whose key had the track logger when they started: while they run, what was seen so far, and all of it when they have ended. Paths are thinned: a point every second, and sooner when the object has moved more than two metres and than the error of its place (properties of the element `report`). Streamed: a long process makes a long file.",
      access: "key",
      query: TracksQuery,
      answers: { 200: ANSWER },
      errors: ["process_not_found", "report_not_found", "graph_lacks"],
      async handle({ user, params, query, raw, log }) {
        const process = await expectLogged(sql, user, params.process_uuid ?? "");
        const isActive = process.state !== "finished" && process.state !== "failed";
        if (isActive) await expectReport(processes, user, process.uuid);
        const format = TRACKS_FORMATS[query.format];
        const headers = {
          "Content-Type": format.mediaType,
          "Content-Disposition": `attachment; filename="tracks-${process.uuid}.${format.extension}"`,
          "Cache-Control": "private, no-store",
        };
        if (raw.method === "HEAD") return new Response(null, { headers });
        await within(FLUSH_MS, tracks.flush()).catch(() => {});
        const pieces = exportTracks(sql, {
          processUuid: process.uuid,
          origin: { title: process.sourceUrl, processUuid: process.uuid },
          ...{ format, isActive },
        });
        // Before anything is promised: a database that is away is still an answer of its own.
        const first = await pieces.next();
        const onFault = (error: unknown) => log.warn({ err: error }, "an export of tracks broke off");
        return new Response(sendPieces(first, pieces, { raw, stallMs, onFault }), { headers });
      },
    }),
  ];
}

/** One of another user's is one that is not there. */
async function expectLogged(sql: Sql, user: User, uuid: string): Promise<ProcessView> {
  const process = await findProcess(sql, user.uuid, uuid);
  if (process === null)
    throw new ServiceError("process_not_found", {
      detail: `there is no process ${uuid}; GET /processes?state=all lists yours`,
    });
  if (process.hasTrackLogger) return process;
  throw new ServiceError("report_not_found", {
    detail: `the key of the process ${uuid} had no track logger when it was started; GET /user_info tells whether it has one`,
  });
}

/** Of one that is just being taken up, or ends in this very moment, nobody can tell; then it has what there is. */
async function expectReport(processes: TrackNeeds["processes"], user: User, uuid: string): Promise<void> {
  try {
    await processes.expectOffer(user, uuid, "report");
  } catch (error) {
    if (error instanceof ServiceError && error.code === "graph_lacks") throw error;
  }
}

interface Way {
  readonly raw: IncomingMessage;
  readonly stallMs: number;
  onFault(error: unknown): void;
}

/** A file that breaks off breaks the connection off: nobody takes a part of it for the whole. */
function sendPieces(first: IteratorResult<string>, pieces: AsyncGenerator<string>, { raw, stallMs, onFault }: Way) {
  const encoder = new TextEncoder();
  let held: IteratorResult<string> | null = first;
  const drop = () => void raw.socket.destroy();
  const leave = () => void pieces.return(undefined).catch(() => {});
  const next = async (): Promise<Uint8Array | null> => {
    try {
      const { done, value } = held ?? (await pieces.next());
      held = null;
      return done ? null : encoder.encode(value);
    } catch (error) {
      onFault(error);
      drop();
      throw error;
    }
  };
  return streamBody({ next, leave }, { afterMs: stallMs, drop });
}

const SAMPLE: WholeTrack = {
  ...{ id: 7, classId: 2, className: "car", isLive: false, box: [480, 540, 240, 270] },
  ...{ firstSeenMs: 1_700_000_000_000, lastSeenMs: 1_700_000_001_000, sightings: 25 },
  confidence: { best: 0.91, mean: 0.83, least: 0.62 },
  points: [0, 1].map((second) => ({
    timeMs: 1_700_000_000_000 + second * 1000,
    confidence: 0.83,
    box: [400 + 80 * second, 540, 240, 270],
    spot: {
      ...{ latitude: 48.1372 + second * 0.0001, longitude: 11.5755, altitude: 519.2, errorM: 1.4 },
      ...{ speedMps: 11.1, heading: 0 },
    },
  })),
};

/** Written by the formats themselves, so that the document cannot say anything else. */
function sampleOf(name: keyof typeof TRACKS_FORMATS): string {
  const { writeHead, writeTrack, writeFoot } = TRACKS_FORMATS[name];
  const origin = { title: "rtsp://camera/main", processUuid: "01890000-0000-7000-8000-000000000001" };
  return writeHead(origin) + writeTrack(SAMPLE, true) + writeFoot();
}

const typeOf = (name: keyof typeof TRACKS_FORMATS): string => TRACKS_FORMATS[name].mediaType.split(";")[0] ?? "";

const ANSWER: AnswerShape = {
  description: "The file.",
  mediaType: typeOf("geojson"),
  schema: TrackCollection,
  otherTypes: [typeOf("kml"), typeOf("csv")],
  examples: {
    [typeOf("geojson")]: JSON.parse(sampleOf("geojson")),
    [typeOf("kml")]: sampleOf("kml"),
    [typeOf("csv")]: sampleOf("csv"),
  },
};
