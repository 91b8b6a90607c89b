/**
 * GeoJSON (RFC 7946): a collection with one feature per track. A path is a LineString, a single position a Point; without a
 * position the geometry is null, which the RFC calls unlocated. Altitudes are in metres above mean sea level.
 */
import { roundDegrees, roundMetres, type TracksFormat, type TracksOrigin, toTime, type WholeTrack } from "./format.ts";
import { cutAtDateLine, describeTrack, findPath, type PathPoint } from "./path.ts";

export const geojson: TracksFormat = {
  mediaType: "application/geo+json",
  extension: "geojson",
  writeHead: ({ title, processUuid }: TracksOrigin) => {
    const members = { type: "FeatureCollection", name: title, ...(processUuid && { process_uuid: processUuid }) };
    return `${JSON.stringify(members).slice(0, -1)},"features":[`;
  },
  writeTrack: (track, isFirst) => `${isFirst ? "\n" : ",\n"}${JSON.stringify(makeFeature(track))}`,
  writeFoot: () => "\n]}\n",
};

function makeFeature(track: WholeTrack): object {
  const path = findPath(track.points);
  const { geometry, times } = makeGeometry(path);
  return { type: "Feature", id: track.id, geometry, properties: { ...describeTrack(track, path), times } };
}

/** `times` has the structure of `coordinates`: one time per position. */
function makeGeometry(path: readonly PathPoint[]): { readonly geometry: object | null; readonly times: unknown } {
  const [first] = path;
  if (first === undefined) return { geometry: null, times: null };
  if (path.length === 1)
    return { geometry: { type: "Point", coordinates: positionOf(first) }, times: toTime(first.timeMs) };
  const parts = cutAtDateLine(path);
  const lines = parts.map((part) => part.map(positionOf));
  const times = parts.map((part) => part.map(({ timeMs }) => toTime(timeMs)));
  if (lines.length === 1) return { geometry: { type: "LineString", coordinates: lines[0] }, times: times[0] };
  return { geometry: { type: "MultiLineString", coordinates: lines }, times };
}

const positionOf = ({ longitude, latitude, altitude }: PathPoint): readonly number[] => [
  roundDegrees(longitude),
  roundDegrees(latitude),
  roundMetres(altitude),
];
