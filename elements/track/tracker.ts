import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { Assigner } from "./assign.ts";
import { CameraFollower } from "./camera-follower.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";
import { fillSurprise, ObjectTrack } from "./object-track.ts";
import { cover, overlap } from "./overlap.ts";
import { LookPace, type TrackerSettings } from "./settings.ts";

/** More surprise than this, and a sighting is of another object. For weak sightings, and for second ones, times a share. */
const LIMIT = 9;
const WEAK_SHARE = 0.7;
const TENTATIVE_SHARE = 1.3;
/** Beyond this time between looks the limit grows as the surprise does: each of four coordinates may have strayed further. */
const PATIENT_S = 0.5;
const COORDINATES = 4;
/** From this share of the confidence that begins a track, a sighting can find one that was lost. */
const SURE_SHARE = 0.8;
/** Sightings that confirm a track. */
const CONFIRMING_HITS = 2;
/** A track that is not confirmed outlives one look without a sighting, or as many as fall into this time. */
const TENTATIVE_S = 0.2;
/** A sighting that overlaps an object just seen by more is a second one of that, if it is of the same class or of another. */
const DUPLICATE_OVERLAP = 0.5;
const OTHER_CLASS_OVERLAP = 0.8;
/** So is a weak one of the same class of which more lies within the object. */
const DUPLICATE_COVER = 0.8;
/** A track that only weak sightings hold on to is followed on, but not shown for longer: it may be a poster that is like it. */
const SHOW_WEAK_S = 0.5;
/** Tracks seen this often and this lately tell of the camera. */
const WITNESS_HITS = 3;
const WITNESS_SEEN_S = 0.5;

/** Differences of times in seconds are off by less. */
const ROUNDING_S = 1e-6;

export interface ShownTrack {
  readonly id: number;
  readonly box: TrackBox;
  readonly confidence: number;
  readonly classId: number;
  readonly predicted: boolean;
  readonly ageMs: number;
  /** Right and down, a second, in the unit of the boxes; without the camera's part where that is known. */
  readonly velocity: readonly [number, number];
}

export interface TrackerFrame {
  /** By id. */
  readonly shown: readonly ShownTrack[];
  /** Ids given up with this frame. */
  readonly ended: readonly number[];
}

interface Rest {
  readonly tracks: readonly ObjectTrack[];
  readonly sightings: readonly Sighting[];
}

/**
 * Gives sightings ids that stay with the objects. Knows nothing of frames or pictures: times and boxes in, tracks out; the
 * same in gives the same out, in whatever order the sightings of a frame come. Sure sightings go to tracks first, what
 * is left of the tracks may hold on to weak ones, and only then new tracks begin.
 */
export class Tracker {
  settings: TrackerSettings;
  readonly #assigner = new Assigner();
  readonly #camera = new CameraFollower();
  readonly #pace = new LookPace();
  #costs = new Float64Array(0);
  #tracks: ObjectTrack[] = [];
  #ended: number[] = [];
  #startNs: bigint | null = null;
  #timeS = 0;
  #lookS = 0;
  readonly #nextId: () => number;
  /** The camera's motion from one of the frames since the last look to the next is not known. */
  #isCameraLost = false;
  /** Nothing is known yet, or all was lost in a gap: what is seen first needs no confirmation. */
  #isFresh = true;

  /** Each id that `nextId` gives is given to one object; it must never give one twice. */
  constructor(settings: TrackerSettings, nextId: () => number) {
    this.settings = settings;
    this.#nextId = nextId;
  }

  /** A frame that was looked at. `motion` is the camera's since the last frame, in the unit of the boxes, where it is known. */
  update(timeNs: bigint, sightings: readonly Sighting[], motion: CameraMotion | null = null): TrackerFrame {
    this.#moveTo(timeNs, motion);
    const sinceLookS = this.#timeS - this.#lookS;
    this.#lookS = this.#timeS;
    this.#pace.note(sinceLookS);
    const { sure, weak } = this.#sort(sightings);
    if (this.#isCameraLost && this.settings.isCameraFollowed) this.#followCamera(sure, sinceLookS);
    this.#isCameraLost = false;

    const known = this.#tracks.filter(({ isConfirmed }) => isConfirmed);
    const tentative = this.#tracks.filter(({ isConfirmed }) => !isConfirmed);
    const limit = LIMIT + COORDINATES * Math.log(Math.max(1, sinceLookS / PATIENT_S));
    const first = this.#match(known, sure, limit);
    this.#hold(first.tracks, weak, limit * WEAK_SHARE);
    const second = this.#match(tentative, first.sightings, limit * TENTATIVE_SHARE);
    this.#create(second.sightings);
    this.#giveUp(sinceLookS);
    this.#isFresh = false;
    return this.#report();
  }

  /** A frame that was not looked at: where everything should be by now. */
  predict(timeNs: bigint, motion: CameraMotion | null = null): TrackerFrame {
    this.#moveTo(timeNs, motion);
    return this.#report();
  }

  /** Nothing before this moment has to do with what comes. Ids go on. */
  reset(): void {
    this.#endAll();
    this.#startNs = null;
  }

  #endAll(): void {
    for (const { id } of this.#tracks) if (id > 0) this.#ended.push(id);
    this.#tracks = [];
    this.#camera.forget();
    this.#isFresh = true;
  }

  #moveTo(timeNs: bigint, motion: CameraMotion | null): void {
    if (this.#startNs === null) {
      this.#startNs = timeNs;
      this.#timeS = 0;
      this.#lookS = 0;
    }
    const timeS = Number(timeNs - this.#startNs) / 1e9;
    const seconds = timeS - this.#timeS;
    this.#timeS = timeS;
    if (motion === null) this.#isCameraLost = true;
    if (seconds < 0 || timeS - this.#lookS > this.#pace.stretch(this.settings.maxAgeS) + ROUNDING_S) this.#endAll();
    for (const { filter, seenS } of this.#tracks) {
      filter.predict(seconds, seenS < this.#lookS);
      if (motion !== null) filter.move(motion);
    }
  }

  get #sureConfidence(): number {
    return this.settings.confidence * SURE_SHARE;
  }

  /** The order in which sightings come must not matter, so they get one of their own. */
  #sort(sightings: readonly Sighting[]): { sure: readonly Sighting[]; weak: readonly Sighting[] } {
    const usable = sightings.filter(({ box }) => box[2] > 0 && box[3] > 0 && box.every(Number.isFinite));
    usable.sort(compareSightings);
    const count = usable.findIndex(({ confidence }) => confidence < this.#sureConfidence);
    return count === -1 ? { sure: usable, weak: [] } : { sure: usable.slice(0, count), weak: usable.slice(count) };
  }

  #followCamera(sightings: readonly Sighting[], sinceLookS: number): void {
    const witnesses = this.#tracks.filter(
      ({ hits, seenS }) => hits >= WITNESS_HITS && this.#timeS - seenS < WITNESS_SEEN_S,
    );
    this.#camera.follow(this.#tracks, witnesses, sightings, sinceLookS, (rows, columns) =>
      this.#pair(rows, columns, LIMIT),
    );
  }

  #pair(tracks: readonly ObjectTrack[], sightings: readonly Sighting[], limit: number): Int32Array {
    const size = tracks.length * sightings.length;
    if (this.#costs.length < size) this.#costs = new Float64Array(size * 2);
    fillSurprise(this.#costs, tracks, sightings, limit);
    return this.#assigner.solve(this.#costs, tracks.length, sightings.length, limit);
  }

  #match(tracks: readonly ObjectTrack[], sightings: readonly Sighting[], limit: number): Rest {
    if (tracks.length === 0 || sightings.length === 0) return { tracks, sightings };
    const pairs = this.#pair(tracks, sightings, limit);
    const left = new Set(sightings);
    const unmatched: ObjectTrack[] = [];
    tracks.forEach((track, row) => {
      const sighting = sightings[pairs[row] as number];
      if (sighting === undefined) {
        unmatched.push(track);
        return;
      }
      left.delete(sighting);
      track.see(sighting, this.#timeS, sighting.confidence >= this.#sureConfidence);
      if (track.hits >= CONFIRMING_HITS) track.isConfirmed = true;
    });
    return { tracks: unmatched, sightings: [...left] };
  }

  /** Weak sightings hold on to tracks, but for no longer than a track lives that is not seen at all. */
  #hold(tracks: readonly ObjectTrack[], weak: readonly Sighting[], limit: number): void {
    const lifeS = this.#pace.stretch(this.settings.maxAgeS);
    const seen = this.#listSeen();
    const isWithin = ({ box, classId }: Sighting): boolean =>
      seen.some(({ seenBox, vote }) => vote.classId === classId && cover(box, seenBox) > DUPLICATE_COVER);
    this.#match(
      tracks.filter(({ sureS }) => this.#timeS - sureS <= lifeS),
      weak.filter((sighting) => !isWithin(sighting) && !isSecond(sighting, seen)),
      limit,
    );
  }

  #create(sightings: readonly Sighting[]): void {
    const isConfirmed = this.#isFresh || this.#pace.isSlow;
    for (const sighting of sightings) {
      if (sighting.confidence < this.settings.confidence) break;
      if (!isSecond(sighting, this.#listSeen())) this.#tracks.push(new ObjectTrack(sighting, this.#timeS, isConfirmed));
    }
  }

  #listSeen(): readonly ObjectTrack[] {
    return this.#tracks.filter(({ seenS }) => seenS === this.#timeS);
  }

  #giveUp(sinceLookS: number): void {
    const tentativeS = Math.max(TENTATIVE_S, sinceLookS);
    const lifeS = this.#pace.stretch(this.settings.maxAgeS);
    this.#tracks = this.#tracks.filter(({ id, seenS, isConfirmed }) => {
      const isAlive = this.#timeS - seenS <= (isConfirmed ? lifeS : tentativeS) + ROUNDING_S;
      if (!isAlive && id > 0) this.#ended.push(id);
      return isAlive;
    });
  }

  /** One that was looked for and not seen is shown the longer the longer it was there before. */
  #isShown({ bornS, seenS, sureS }: ObjectTrack): boolean {
    const { showPredictedS } = this.settings;
    if (seenS - sureS > Math.max(SHOW_WEAK_S, showPredictedS) + ROUNDING_S) return false;
    if (seenS >= this.#lookS) return true;
    return this.#timeS - seenS <= showPredictedS * Math.min(1, seenS - bornS) + ROUNDING_S;
  }

  #report(): TrackerFrame {
    const shown: ShownTrack[] = [];
    for (const track of this.#tracks) {
      if (!track.isConfirmed || !this.#isShown(track)) continue;
      if (track.id === 0) track.id = this.#nextId();
      shown.push({
        id: track.id,
        box: track.showBox(this.#timeS),
        confidence: track.confidence,
        classId: track.vote.classId,
        predicted: track.seenS !== this.#timeS,
        ageMs: (this.#timeS - track.bornS) * 1000,
        velocity: [track.filter.x.speed, track.filter.y.speed],
      });
    }
    const ended = this.#ended.sort((a, b) => a - b);
    this.#ended = [];
    return { shown: shown.sort((a, b) => a.id - b.id), ended };
  }
}

function isSecond({ box, classId }: Sighting, seen: readonly ObjectTrack[]): boolean {
  return seen.some(
    ({ seenBox, vote }) => overlap(box, seenBox) > (vote.classId === classId ? DUPLICATE_OVERLAP : OTHER_CLASS_OVERLAP),
  );
}

function compareSightings(a: Sighting, b: Sighting): number {
  if (a.confidence !== b.confidence) return b.confidence - a.confidence;
  for (const i of [0, 1, 2, 3] as const) if (a.box[i] !== b.box[i]) return a.box[i] - b.box[i];
  return a.classId - b.classId;
}
