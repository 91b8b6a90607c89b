/**
 * The tracks of a process, written in a format, piece by piece. Read page by page, each in a query of its own: a client
 * that takes its time holds no connection, and a process of any length takes the memory of a page and of one path.
 */
import type { TrackPoint } from "../../schemas/track-report.ts";
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
    const points = new PointPages(sql, processUuid, first.id, last.id);
    for (const track of tracks) yield { ...track, points: await points.take(track.id) };
    after = last.id;
  }
}

/** The points of some tracks, page by page, in their order. */
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

  /** Of this track, which comes behind those that were asked for before. */
  async take(trackId: number): Promise<readonly TrackPoint[]> {
    const points: TrackPoint[] = [];
    for (;;) {
      const next = this.#page[this.#at];
      if (next === undefined) {
        if (!(await this.#turn())) return points;
      } else {
        if (next.trackId > trackId) return points;
        // One below it came while this was read, and its track is not among those that were.
        if (next.trackId === trackId) points.push(next.point);
        this.#at += 1;
      }
    }
  }

  /** False when there is no more. */
  async #turn(): Promise<boolean> {
    if (this.#isLastPage) return false;
    const wanted = { after: this.#after, lastTrackId: this.#lastTrackId };
    this.#page = await readPoints(this.#sql, this.#processUuid, wanted, POINTS_A_PAGE);
    this.#at = 0;
    this.#after = this.#page.at(-1) ?? this.#after;
    this.#isLastPage = this.#page.length < POINTS_A_PAGE;
    return this.#page.length > 0;
  }
}
