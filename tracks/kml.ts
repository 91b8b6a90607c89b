/**
 * KML 2.2: one placemark per geolocated track, with its time span. Uses LineString, which every map reads, instead of
 * gx:Track. Lines are drawn on the map's ground.
 */
import {
  roundDegrees,
  roundMetres,
  type TracksFormat,
  type TracksOrigin,
  toPercent,
  toTime,
  type WholeTrack,
  writePlain,
} from "./format.ts";
import { cutAtDateLine, describeTrack, findPath, type PathPoint } from "./path.ts";

/** By class, as `overlay` draws them on the video: seven colours and lighter tints of them, as RRGGBB. */
const COLOURS = [
  ...["e69f00", "56b4e9", "009e73", "f0e442", "cc79a7", "0072b2", "d55e00"],
  ...["f3cf80", "abdaf4", "80cfb9", "f8f2a1", "e6bcd3", "80b9d9", "eaaf80"],
] as const;

export const kml: TracksFormat = {
  mediaType: "application/vnd.google-earth.kml+xml",
  extension: "kml",
  writeHead,
  writeTrack,
  writeFoot: () => "</Document>\n</kml>\n",
};

function writeHead({ title, processUuid }: TracksOrigin): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<kml xmlns="http://www.opengis.net/kml/2.2">',
    "<Document>",
    `<name>Tracks of ${escapeXml(title)}</name>`,
    ...(processUuid === null ? [] : [`<description>Process ${escapeXml(processUuid)}</description>`]),
    ...COLOURS.map(writeStyle),
    "",
  ].join("\n");
}

/** KML's order is opacity, blue, green, red. */
function writeStyle(rgb: string, index: number): string {
  const colour = `ff${rgb.slice(4)}${rgb.slice(2, 4)}${rgb.slice(0, 2)}`;
  return `<Style id="colour-${index}"><IconStyle><color>${colour}</color><scale>0.8</scale></IconStyle><LineStyle><color>${colour}</color><width>3</width></LineStyle></Style>`;
}

function writeTrack(track: WholeTrack): string {
  const path = findPath(track.points);
  if (path.length === 0) return "";
  const seen = `from ${toTime(track.firstSeenMs)} to ${toTime(track.lastSeenMs)}`;
  return [
    `<Placemark id="track-${track.id}">`,
    `<name>${escapeXml(track.className)} ${track.id}</name>`,
    `<description>Seen ${seen}, at best with ${toPercent(track.confidence.best)} % confidence.</description>`,
    `<TimeSpan><begin>${toTime(track.firstSeenMs)}</begin><end>${toTime(track.lastSeenMs)}</end></TimeSpan>`,
    `<styleUrl>#colour-${track.classId % COLOURS.length}</styleUrl>`,
    `<ExtendedData>${writeData(track, path)}</ExtendedData>`,
    writeGeometry(path),
    "</Placemark>",
    "",
  ].join("\n");
}

/** Those of GeoJSON that a placemark does not have in another form. */
const DATA = [
  ...(["track_id", "class_id", "class_name", "sightings", "max_confidence", "mean_confidence"] as const),
  ...(["min_confidence", "speed_mps", "heading", "position_error_m"] as const),
];

function writeData(track: WholeTrack, path: readonly PathPoint[]): string {
  const values = describeTrack(track, path);
  return DATA.filter((name) => values[name] !== null)
    .map((name) => `<Data name="${name}"><value>${escapeXml(String(values[name]))}</value></Data>`)
    .join("");
}

function writeGeometry(path: readonly PathPoint[]): string {
  if (path.length === 1) return `<Point><coordinates>${writePositions(path)}</coordinates></Point>`;
  const lines = cutAtDateLine(path).map(
    (part) => `<LineString><tessellate>1</tessellate><coordinates>${writePositions(part)}</coordinates></LineString>`,
  );
  return lines.length === 1 ? (lines[0] ?? "") : `<MultiGeometry>${lines.join("")}</MultiGeometry>`;
}

const writePositions = (path: readonly PathPoint[]): string =>
  path
    .map(({ longitude, latitude, altitude }) =>
      [writePlain(roundDegrees(longitude)), writePlain(roundDegrees(latitude)), writePlain(roundMetres(altitude))].join(
        ",",
      ),
    )
    .join(" ");

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Not allowed in XML 1.0, not even escaped: most control characters, lone surrogates, two noncharacters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters.
const INVALID = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

/** For text and for attribute values. */
const escapeXml = (text: string): string =>
  text.replaceAll(INVALID, "\ufffd").replaceAll(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);
