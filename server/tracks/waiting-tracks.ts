/**
 * News of tracks on their way to the database. Bounded: while the database is away summaries are merged, one for each
 * track, and beyond the limits the oldest go and are counted.
 */
import type { ReportedTrack } from "../../schemas/track-report.ts";
import type { EndedTracks, NumberedPoint, TrackNews } from "../store/tracks.ts";

export interface WaitingLimits {
  readonly tracks: number;
  readonly points: number;
  /** Of pictures, as they wait: in base64. */
  readonly patchBytes: number;
}

export interface Losses {
  readonly tracks: number;
  readonly points: number;
  readonly patches: number;
}

const NONE: Losses = { tracks: 0, points: 0, patches: 0 };
/** That are written at once. */
const MOST_TAKEN_PATCH_BYTES = 8 * 1024 * 1024;

export class WaitingTracks {
  readonly #limits: WaitingLimits;
  /** The oldest first. */
  readonly #news = new Map<string, TrackNews>();
  #points = 0;
  #patchBytes = 0;
  #lost = NONE;

  constructor(limits: WaitingLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#news.size === 0;
  }

  add(processUuid: string, { pointsBefore, points, patch, ...summary }: ReportedTrack): void {
    const numbered = points.map((point, i): NumberedPoint => ({ ...point, index: pointsBefore + i }));
    const earlier = this.#news.get(keyOf({ processUuid, id: summary.id }));
    this.#set({
      ...{ processUuid, ...summary },
      points: [...(earlier?.points ?? []), ...numbered],
      patch: patch ?? earlier?.patch ?? null,
    });
    this.#shrink();
  }

  /** The runner that followed them is gone. */
  end({ processUuid, lastTrackId }: EndedTracks): void {
    for (const [key, news] of this.#news)
      if (news.processUuid === processUuid && news.id <= lastTrackId) this.#news.set(key, { ...news, isLive: false });
  }

  /** The oldest, up to about so many points or as many tracks. */
  take(most: number): readonly TrackNews[] {
    const taken: TrackNews[] = [];
    let points = 0;
    let patchBytes = 0;
    for (const news of this.#news.values()) {
      const isMuch = points + news.points.length > most || patchBytes + bytesOf(news) > MOST_TAKEN_PATCH_BYTES;
      if (taken.length > 0 && (isMuch || taken.length >= most)) break;
      points += news.points.length;
      patchBytes += bytesOf(news);
      taken.push(news);
    }
    for (const news of taken) this.#delete(keyOf(news));
    return taken;
  }

  /** What could not be written. News that came in the meantime are newer. */
  putBack(taken: readonly TrackNews[]): void {
    for (const old of taken) {
      const newer = this.#news.get(keyOf(old));
      const points = [...old.points, ...(newer?.points ?? [])];
      this.#set({ ...(newer ?? old), points, patch: newer?.patch ?? old.patch });
    }
    this.#shrink();
  }

  /** It can never be written. */
  lose(news: TrackNews): void {
    this.#count({ tracks: 1, points: news.points.length, patches: news.patch === null ? 0 : 1 });
  }

  /** What was lost since it was last asked. */
  takeLosses(): Losses {
    const lost = this.#lost;
    this.#lost = NONE;
    return lost;
  }

  #count({ tracks = 0, points = 0, patches = 0 }: Partial<Losses>): void {
    const lost = this.#lost;
    this.#lost = { tracks: lost.tracks + tracks, points: lost.points + points, patches: lost.patches + patches };
  }

  #set(news: TrackNews): void {
    const key = keyOf(news);
    this.#weigh(this.#news.get(key), -1);
    this.#weigh(news, 1);
    this.#news.set(key, news);
  }

  #delete(key: string): void {
    this.#weigh(this.#news.get(key), -1);
    this.#news.delete(key);
  }

  #weigh(news: TrackNews | undefined, sign: 1 | -1): void {
    if (news === undefined) return;
    this.#points += sign * news.points.length;
    this.#patchBytes += sign * bytesOf(news);
  }

  #shrink(): void {
    for (const [key, news] of this.#news) {
      const isFull = this.#news.size > this.#limits.tracks;
      const hasManyPoints = this.#points > this.#limits.points;
      const hasManyPatches = this.#patchBytes > this.#limits.patchBytes;
      if (!isFull && !hasManyPoints && !hasManyPatches) return;
      if (isFull) {
        this.lose(news);
        this.#delete(key);
        continue;
      }
      const less = { ...news, ...(hasManyPoints && { points: [] }), ...(hasManyPatches && { patch: null }) };
      this.#count({
        points: news.points.length - less.points.length,
        patches: news.patch !== null && less.patch === null ? 1 : 0,
      });
      this.#set(less);
    }
  }
}

const bytesOf = ({ patch }: Pick<TrackNews, "patch">): number => patch?.jpeg.length ?? 0;

const keyOf = ({ processUuid, id }: Pick<TrackNews, "processUuid" | "id">): string => `${processUuid}/${id}`;
