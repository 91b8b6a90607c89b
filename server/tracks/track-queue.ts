/**
 * Updates of tracks on their way to the database. Bounded: while the database is unavailable updates are merged per track,
 * and beyond the limits the oldest are dropped and counted.
 */
import type { ReportedTrack } from "../../schemas/track-report.ts";
import type { Claim } from "../store/processes.ts";
import type { EndedTracks, NumberedPoint, TrackUpdate } from "../store/tracks.ts";

interface TrackQueueLimits {
  readonly tracks: number;
  readonly points: number;
  /** Of images in base64. */
  readonly patchBytes: number;
}

export interface Losses {
  readonly tracks: number;
  readonly points: number;
  readonly patches: number;
}

const NONE: Losses = { tracks: 0, points: 0, patches: 0 };
/** Per batch. */
const MAX_BATCH_PATCH_BYTES = 8 * 1024 * 1024;

export class TrackQueue {
  readonly #limits: TrackQueueLimits;
  /** Oldest first. */
  readonly #updates = new Map<string, TrackUpdate>();
  /** Those with points and those with an image, to find what to drop. */
  readonly #withPoints = new Set<string>();
  readonly #withPatch = new Set<string>();
  #points = 0;
  #patchBytes = 0;
  #lost = NONE;

  constructor(limits: TrackQueueLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#updates.size === 0;
  }

  /** Tracks. */
  get size(): number {
    return this.#updates.size;
  }

  add({ uuid: processUuid, fence }: Claim, { pointsBefore, points, patch, ...summary }: ReportedTrack): void {
    const numbered = points.map((point, i): NumberedPoint => ({ ...point, index: pointsBefore + i }));
    const earlier = this.#updates.get(keyOf({ processUuid, id: summary.id }));
    this.#set({
      ...{ processUuid, fence, ...summary },
      points: [...(earlier?.points ?? []), ...numbered],
      patch: patch ?? earlier?.patch ?? null,
    });
    this.#enforceLimits();
  }

  /** The runner that followed them has ended. */
  end({ processUuid, lastTrackId }: EndedTracks): void {
    for (const [key, update] of this.#updates)
      if (update.processUuid === processUuid && update.id <= lastTrackId)
        this.#updates.set(key, { ...update, isLive: false });
  }

  /** The oldest, up to about `most` points and tracks. */
  take(most: number): readonly TrackUpdate[] {
    const taken: TrackUpdate[] = [];
    let points = 0;
    let patchBytes = 0;
    for (const update of this.#updates.values()) {
      const isFull = points + update.points.length > most || patchBytes + bytesOf(update) > MAX_BATCH_PATCH_BYTES;
      if (taken.length > 0 && (isFull || taken.length >= most)) break;
      points += update.points.length;
      patchBytes += bytesOf(update);
      taken.push(update);
    }
    for (const update of taken) this.#delete(keyOf(update));
    return taken;
  }

  /** They could not be written. Updates added meanwhile are newer. */
  putBack(taken: readonly TrackUpdate[]): void {
    for (const old of taken) {
      const newer = this.#updates.get(keyOf(old));
      const points = [...old.points, ...(newer?.points ?? [])];
      this.#set({ ...(newer ?? old), points, patch: newer?.patch ?? old.patch });
    }
    this.#enforceLimits();
  }

  /** It cannot be written. */
  drop(update: TrackUpdate): void {
    this.#count({ tracks: 1, points: update.points.length, patches: update.patch === null ? 0 : 1 });
  }

  /** Losses since the last call. */
  takeLosses(): Losses {
    const lost = this.#lost;
    this.#lost = NONE;
    return lost;
  }

  #count({ tracks = 0, points = 0, patches = 0 }: Partial<Losses>): void {
    const lost = this.#lost;
    this.#lost = { tracks: lost.tracks + tracks, points: lost.points + points, patches: lost.patches + patches };
  }

  #set(update: TrackUpdate): void {
    const key = keyOf(update);
    this.#addToTotals(this.#updates.get(key), -1);
    this.#addToTotals(update, 1);
    this.#updates.set(key, update);
    if (update.points.length > 0) this.#withPoints.add(key);
    else this.#withPoints.delete(key);
    if (update.patch !== null) this.#withPatch.add(key);
    else this.#withPatch.delete(key);
  }

  #delete(key: string): void {
    this.#addToTotals(this.#updates.get(key), -1);
    this.#updates.delete(key);
    this.#withPoints.delete(key);
    this.#withPatch.delete(key);
  }

  #addToTotals(update: TrackUpdate | undefined, sign: 1 | -1): void {
    if (update === undefined) return;
    this.#points += sign * update.points.length;
    this.#patchBytes += sign * bytesOf(update);
  }

  #enforceLimits(): void {
    for (const [key, update] of this.#updates) {
      if (this.#updates.size <= this.#limits.tracks) break;
      this.drop(update);
      this.#delete(key);
    }
    for (const key of this.#withPoints) {
      if (this.#points <= this.#limits.points) break;
      this.#reduce(key, { points: [] });
    }
    for (const key of this.#withPatch) {
      if (this.#patchBytes <= this.#limits.patchBytes) break;
      this.#reduce(key, { patch: null });
    }
  }

  #reduce(key: string, change: Partial<Pick<TrackUpdate, "points" | "patch">>): void {
    const update = this.#updates.get(key);
    if (update === undefined) return;
    this.#count(change.points === undefined ? { patches: 1 } : { points: update.points.length });
    this.#set({ ...update, ...change });
  }
}

const bytesOf = ({ patch }: Pick<TrackUpdate, "patch">): number => patch?.jpeg.length ?? 0;

const keyOf = ({ processUuid, id }: Pick<TrackUpdate, "processUuid" | "id">): string => `${processUuid}/${id}`;
