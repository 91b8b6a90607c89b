/**
 * Exports the tracks of a process in a format, in chunks. Reads pages with one query each: a slow client holds no connection,
 * and memory is limited to a page and the points of one track.
 */
import type { TrackPoint } from "../../schemas/track-report.ts";
import type { TracksFormat, TracksOrigin, WholeTrack } from "../../tracks/format.ts";
import type { Queries } from "../store/client.ts";
import { type PointPlace, readPoints, readTracks, type TrackFilter } from "../store/tracks.ts";

interface TracksExport {
  readonly processUuid: string;
  readonly origin: TracksOrigin;
  readonly format: TracksFormat;
  /** The process is running: tracks may be live. */
  readonly isActive: boolean;
  readonly filter?: TrackFilter;
}

const TRACKS_PER_PAGE = 500;
const POINTS_PER_PAGE = 2_000;
const CHUNK_CHARACTERS = 65_536;

export async function* exportTracks(sql: Queries, wanted: TracksExport): AsyncGenerator<string> {
  const { processUuid, origin, format, isActive, filter = {} } = wanted;
  let chunk = format.writeHead(origin);
  let isFirst = true;
  for await (const track of readWholeTracks(sql, processUuid, filter)) {
    const text = format.writeTrack({ ...track, isLive: track.isLive && isActive }, isFirst);
    if (text === "") continue;
    isFirst = false;
    chunk += text;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk + format.writeFoot();
}

async function* readWholeTracks(sql: Queries, processUuid: string, filter: TrackFilter): AsyncGenerator<WholeTrack> {
  for (let after = 0; ; ) {
    const tracks = await readTracks(sql, processUuid, { after, limit: TRACKS_PER_PAGE, filter });
    const [first, last] = [tracks[0], tracks.at(-1)];
    if (first === undefined || last === undefined) return;
    const rows = readAllPoints(sql, processUuid, first.id, last.id);
    let next = await rows.next();
    for (const track of tracks) {
      const points: TrackPoint[] = [];
      for (; next.done !== true && next.value.trackId <= track.id; next = await rows.next())
        // A lower one was added meanwhile, and its track was not read.
        if (next.value.trackId === track.id) points.push(next.value.point);
      yield { ...track, points };
    }
    after = last.id;
  }
}

/** The points of these tracks in order, read by page. */
async function* readAllPoints(sql: Queries, processUuid: string, firstTrackId: number, lastTrackId: number) {
  for (let after: PointPlace = { trackId: firstTrackId, index: -1 }; ; ) {
    const page = await readPoints(sql, processUuid, { after, lastTrackId }, POINTS_PER_PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < POINTS_PER_PAGE) return;
    after = last;
  }
}
