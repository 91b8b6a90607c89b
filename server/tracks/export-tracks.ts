/**
 * Exports the tracks of a process in a format, in chunks. Reads pages with one query each: a slow client holds no connection,
 * and memory is limited to a page and the points of one track.
 */
import type { TrackPoint } from "../../schemas/track-report.ts";
import type { TracksFormat, TracksOrigin, WholeTrack } from "../../tracks/format.ts";
import type { Queries } from "../store/client.ts";
import { type PointPlace, readPoints, readTracks } from "../store/tracks.ts";

interface TracksExport {
  readonly processUuid: string;
  readonly origin: TracksOrigin;
  readonly format: TracksFormat;
  /** The process is running: tracks may be live. */
  readonly isActive: boolean;
}

const TRACKS_PER_PAGE = 500;
const POINTS_PER_PAGE = 2_000;
const CHUNK_CHARACTERS = 65_536;

export async function* exportTracks(sql: Queries, wanted: TracksExport): AsyncGenerator<string> {
  const { processUuid, origin, format, isActive } = wanted;
  let chunk = format.writeHead(origin);
  let isFirst = true;
  for await (const track of readWholeTracks(sql, processUuid)) {
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

async function* readWholeTracks(sql: Queries, processUuid: string): AsyncGenerator<WholeTrack> {
  for (let after = 0; ; ) {
    const tracks = await readTracks(sql, processUuid, after, TRACKS_PER_PAGE);
    const [first, last] = [tracks[0], tracks.at(-1)];
    if (first === undefined || last === undefined) return;
    const points = new PointPages(sql, processUuid, first.id, last.id);
    for (const track of tracks) yield { ...track, points: await points.take(track.id) };
    after = last.id;
  }
}

/** The points of some tracks in order, read by page. */
class PointPages {
  readonly #sql: Queries;
  readonly #processUuid: string;
  readonly #lastTrackId: number;
  #after: PointPlace;
  #page: Awaited<ReturnType<typeof readPoints>> = [];
  #at = 0;
  #isLastPage = false;

  constructor(sql: Queries, processUuid: string, firstTrackId: number, lastTrackId: number) {
    this.#sql = sql;
    this.#processUuid = processUuid;
    this.#lastTrackId = lastTrackId;
    this.#after = { trackId: firstTrackId, index: -1 };
  }

  /** Of this track. Called with increasing ids. */
  async take(trackId: number): Promise<readonly TrackPoint[]> {
    const points: TrackPoint[] = [];
    for (;;) {
      const next = this.#page[this.#at];
      if (next === undefined) {
        if (!(await this.#readPage())) return points;
      } else {
        if (next.trackId > trackId) return points;
        // A lower one was added meanwhile, and its track was not read.
        if (next.trackId === trackId) points.push(next.point);
        this.#at += 1;
      }
    }
  }

  /** False at the end. */
  async #readPage(): Promise<boolean> {
    if (this.#isLastPage) return false;
    const wanted = { after: this.#after, lastTrackId: this.#lastTrackId };
    this.#page = await readPoints(this.#sql, this.#processUuid, wanted, POINTS_PER_PAGE);
    this.#at = 0;
    this.#after = this.#page.at(-1) ?? this.#after;
    this.#isLastPage = this.#page.length < POINTS_PER_PAGE;
    return this.#page.length > 0;
  }
}
