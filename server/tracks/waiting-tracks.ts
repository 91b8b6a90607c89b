/**
 * News of tracks on their way to the database. Bounded: while the database is away summaries are merged, one for each
 * track, and beyond the limits the oldest go and are counted.
 */
import type { ReportedTrack } from "../../schemas/track-report.ts";
import type { EndedTracks, NumberedPoint, TrackNews } from "../store/tracks.ts";

export interface WaitingLimits {
  readonly tracks: number;
  readonly points: number;
}

export interface Losses {
  readonly tracks: number;
  readonly points: number;
}

export class WaitingTracks {
  readonly #limits: WaitingLimits;
  /** The oldest first. */
  readonly #news = new Map<string, TrackNews>();
  #points = 0;
  #lost: Losses = { tracks: 0, points: 0 };

  constructor(limits: WaitingLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#news.size === 0;
  }

  add(processUuid: string, { pointsBefore, points, ...summary }: ReportedTrack): void {
    const numbered = points.map((point, i): NumberedPoint => ({ ...point, index: pointsBefore + i }));
    const earlier = this.#news.get(keyOf({ processUuid, id: summary.id }));
    this.#set({ processUuid, ...summary, points: [...(earlier?.points ?? []), ...numbered] });
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
    for (const news of this.#news.values()) {
      if (taken.length > 0 && (points + news.points.length > most || taken.length >= most)) break;
      points += news.points.length;
      taken.push(news);
    }
    for (const news of taken) this.#delete(keyOf(news));
    return taken;
  }

  /** What could not be written. News that came in the meantime are newer. */
  putBack(taken: readonly TrackNews[]): void {
    for (const old of taken) {
      const newer = this.#news.get(keyOf(old));
      this.#set(newer === undefined ? old : { ...newer, points: [...old.points, ...newer.points] });
    }
    this.#shrink();
  }

  /** It can never be written. */
  lose(news: TrackNews): void {
    this.#lost = { tracks: this.#lost.tracks + 1, points: this.#lost.points + news.points.length };
  }

  /** What was lost since it was last asked. */
  takeLosses(): Losses {
    const lost = this.#lost;
    this.#lost = { tracks: 0, points: 0 };
    return lost;
  }

  #set(news: TrackNews): void {
    const key = keyOf(news);
    this.#points += news.points.length - (this.#news.get(key)?.points.length ?? 0);
    this.#news.set(key, news);
  }

  #delete(key: string): void {
    this.#points -= this.#news.get(key)?.points.length ?? 0;
    this.#news.delete(key);
  }

  #shrink(): void {
    for (const [key, news] of this.#news) {
      const isFull = this.#news.size > this.#limits.tracks;
      if (!isFull && this.#points <= this.#limits.points) return;
      if (isFull) {
        this.lose(news);
        this.#delete(key);
      } else {
        this.#lost = { ...this.#lost, points: this.#lost.points + news.points.length };
        this.#set({ ...news, points: [] });
      }
    }
  }
}

const keyOf = ({ processUuid, id }: Pick<TrackNews, "processUuid" | "id">): string => `${processUuid}/${id}`;
