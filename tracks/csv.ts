/**
 * CSV (RFC 4180): one line per point of every track, with empty coordinates if there are none. Safe for spreadsheets, which
 * interpret some text as a formula.
 */
import type { TrackPoint, TrackSpot } from "../schemas/track-report.ts";
import {
  roundAngle,
  roundDegrees,
  roundMetres,
  type TracksFormat,
  toPercent,
  toTime,
  type WholeTrack,
  writePlain,
} from "./format.ts";

const COLUMNS = [
  ...["track_id", "class_id", "class_name", "time", "confidence", "latitude", "longitude", "altitude_m"],
  ...["position_error_m", "speed_mps", "heading", "bbox_x", "bbox_y", "bbox_width", "bbox_height"],
] as const;

export const csv: TracksFormat = {
  mediaType: "text/csv; charset=utf-8; header=present",
  extension: "csv",
  writeHead: () => writeLine(COLUMNS),
  writeTrack: (track) => (track.points.length > 0 ? track.points : [findLast(track)]).map(lineOf(track)).join(""),
  writeFoot: () => "",
};

/** For a track without points: the values of its summary. */
const findLast = ({ lastSeenMs, confidence, box }: WholeTrack): TrackPoint => ({
  timeMs: lastSeenMs,
  confidence: confidence.mean,
  box,
  spot: null,
});

const lineOf =
  ({ id, classId, className }: WholeTrack) =>
  ({ timeMs, confidence, box, spot }: TrackPoint): string =>
    writeLine([
      ...[id, classId, writeText(className), toTime(timeMs), toPercent(confidence)],
      ...(spot === null ? NOWHERE : listPlace(spot)),
      ...box,
    ]);

const NOWHERE = ["", "", "", "", "", ""] as const;

const listPlace = (spot: TrackSpot): readonly (string | number)[] => [
  writePlain(roundDegrees(spot.latitude)),
  writePlain(roundDegrees(spot.longitude)),
  roundMetres(spot.altitude),
  roundMetres(spot.errorM),
  spot.speedMps === null ? "" : roundMetres(spot.speedMps),
  spot.heading === null ? "" : roundAngle(spot.heading),
];

const writeLine = (cells: readonly (string | number)[]): string => `${cells.join(",")}\r\n`;

const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** A leading apostrophe turns a formula into text; quotes allow commas and line breaks. */
export function writeText(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
