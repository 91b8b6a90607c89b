/**
 * The tracks of a process, written in a format, piece by piece. Read page by page, each in a query of its own: a client
 * that takes its time holds no connection, and a process of any length takes the memory of a page and of one path.
 */
import type { TrackPoint, TrackSummary } from "../../schemas/track-report.ts";
import type { TracksFormat, TracksOrigin, WholeTrack } from "../../tracks/format.ts";
import type { Queries } from "../store/client.ts";
import { type PointPlace, readPoints, readTracks } from "../store/tracks.ts";

interface TracksExport {
  readonly processUuid: string;
  readonly origin: TracksOrigin;
  readonly format: TracksFormat;
  /** It may still see them. */
  readonly isActive: boolean;
}

const TRACKS_A_PAGE = 500;
const POINTS_A_PAGE = 2_000;
const PIECE_CHARACTERS = 65_536;

export async function* exportTracks(sql: Queries, wanted: TracksExport): AsyncGenerator<string> {
  const { processUuid, origin, format, isActive } = wanted;
  let piece = format.writeHead(origin);
  let isFirst = true;
  for await (const track of readWholeTracks(sql, processUuid)) {
    const text = format.writeTrack({ ...track, isLive: track.isLive && isActive }, isFirst);
    if (text === "") continue;
    isFirst = false;
    piece += text;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = "";
  }
  yield piece + format.writeFoot();
}

async function* readWholeTracks(sql: Queries, processUuid: string): AsyncGenerator<WholeTrack> {
  for (let after = 0; ; ) {
    const tracks = await readTracks(sql, processUuid, after, TRACKS_A_PAGE);
    const [first, last] = [tracks[0], tracks.at(-1)];
    if (first === undefined || last === undefined) return;
    yield* joinPoints(tracks, readPathPoints(sql, processUuid, first.id, last.id));
    after = last.id;
  }
}

type PlacedPoint = PointPlace & { readonly point: TrackPoint };

async function* readPathPoints(
  sql: Queries,
  processUuid: string,
  firstTrackId: number,
  lastTrackId: number,
): AsyncGenerator<PlacedPoint> {
  for (let after: PointPlace = { trackId: firstTrackId, index: -1 }; ; ) {
    const points = await readPoints(sql, processUuid, { after, lastTrackId }, POINTS_A_PAGE);
    yield* points;
    const last = points.at(-1);
    if (last === undefined || points.length < POINTS_A_PAGE) return;
    after = last;
  }
}

/** Both by track: each gets its own. Points of tracks that came in between are left for the next time. */
async function* joinPoints(
  tracks: readonly TrackSummary[],
  points: AsyncGenerator<PlacedPoint>,
): AsyncGenerator<WholeTrack> {
  let next = await points.next();
  for (const track of tracks) {
    const path: TrackPoint[] = [];
    while (!next.done && next.value.trackId <= track.id) {
      if (next.value.trackId === track.id) path.push(next.value.point);
      next = await points.next();
    }
    yield { ...track, points: path };
  }
}
