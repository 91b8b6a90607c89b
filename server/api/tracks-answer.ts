/** What `GET /process/{process_uuid}/tracks` answers with, for the document: written by the formats themselves. */
import { TrackCollection, TrackReportRecord } from "../../schemas/api/track-reports.ts";
import type { WholeTrack } from "../../tracks/format.ts";
import { TRACKS_FORMATS } from "../../tracks/formats.ts";
import { beginEntry, endEntry } from "../../tracks/report-entry.ts";
import type { AnswerShape } from "./endpoint.ts";

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
