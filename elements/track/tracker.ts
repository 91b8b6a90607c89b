import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { Assigner } from "./assign.ts";
import { CameraFollower } from "./camera-follower.ts";
import type { KeptTrack } from "./kept-tracks.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";
import { fillSurprise, ObjectTrack } from "./object-track.ts";
import { cover, overlap } from "./overlap.ts";
import { DEFAULT_TUNING, InferencePace, type TrackerSettings, type TrackerTuning } from "./settings.ts";
import { MeanStay } from "./stay.ts";

/** Scale of the maximum surprise for weak sightings and for tentative tracks. */
const WEAK_SHARE = 0.7;
const TENTATIVE_SHARE = 1.3;
/** Beyond this time between inferences the limit grows with the surprise: each of four coordinates may have drifted further. */
const PATIENT_S = 0.5;
const COORDINATES = 4;
/** Share of the starting confidence from which a sighting counts as sure. */
const SURE_SHARE = 0.8;
/** Sightings needed to confirm a track. */
const CONFIRMING_HITS = 2;
/** A tentative track survives one inference without a sighting, or as many as fall into this time. */
const TENTATIVE_S = 0.2;
/** A sighting that overlaps a track just seen by more is a duplicate: limits for the same and for another class. */
const DUPLICATE_OVERLAP = 0.5;
const OTHER_CLASS_OVERLAP = 0.8;
/** A weak sighting of the same class that lies within a track by more is a duplicate. */
const DUPLICATE_COVER = 0.8;
/** A track supported only by weak sightings is tracked, but not shown for longer: it may be a look-alike. */
const SHOW_WEAK_S = 0.5;
/** Tracks with this many and this recent sightings are used to estimate camera motion. */
const WITNESS_HITS = 3;
const WITNESS_SEEN_S = 0.5;

/**
 * While nothing is inferred, as when an inference worker or a runner is replaced, nothing is missed: tracks live this many
 * times as long.
 */
const BLIND_LIVES = 4;

/** Rounding error of time differences. */
const ROUNDING_S = 1e-6;

export interface ShownTrack {
  readonly id: number;
  readonly box: TrackBox;
  readonly confidence: number;
  readonly classId: number;
  readonly predicted: boolean;
  readonly ageMs: number;
  /** Right and down per second, in the unit of the boxes; without camera motion if known. */
  readonly velocity: readonly [number, number];
}

export interface TrackerFrame {
  /** Ordered by id. */
  readonly shown: readonly ShownTrack[];
  /** Ids that ended with this frame. */
  readonly ended: readonly number[];
}

interface Rest {
  readonly tracks: readonly ObjectTrack[];
  readonly sightings: readonly Sighting[];
}

/**
 * Assigns ids to sightings. Input are times and boxes, not frames; deterministic and independent of the order of the
 * sightings of a frame. Sure sightings are matched first, remaining tracks may match weak ones, then new tracks start.
 */
export class Tracker {
  settings: TrackerSettings;
  readonly #assigner = new Assigner();
  readonly #camera = new CameraFollower();
  readonly #pace = new InferencePace();
  readonly #tuning: TrackerTuning;
  readonly #stay: MeanStay;
  #costs = new Float64Array(0);
  #tracks: ObjectTrack[] = [];
  #ended: number[] = [];
  /** Tracks confirmed with this inference. */
  #begun = 0;
  #startNs: bigint | null = null;
  #timeS = 0;
  #inferredS = 0;
  /** Time of the inference before the last. */
  #previousS = 0;
  readonly #nextId: () => number;
  /** Time since the last inference in which frames were not inferred, or the runner was replaced. */
  #blindS = 0;
  /** Camera motion is unknown for a frame since the last inference. */
  #isCameraLost = false;
  /** No tracks yet, or all ended in a gap: first sightings need no confirmation. */
  #isFresh = true;

  /** `nextId` must never return the same id twice. */
  constructor(settings: TrackerSettings, nextId: () => number, tuning = DEFAULT_TUNING) {
    this.settings = settings;
    this.#nextId = nextId;
    this.#tuning = tuning;
    this.#stay = new MeanStay(tuning.usualStayS);
  }

  /** A frame with inference. `motion` is the camera motion since the last frame in the unit of the boxes, if known. */
  update(timeNs: bigint, sightings: readonly Sighting[], motion: CameraMotion | null = null): TrackerFrame {
    this.#moveTo(timeNs, motion);
    const sinceInferenceS = this.#timeS - this.#inferredS;
    this.#previousS = this.#inferredS;
    this.#inferredS = this.#timeS;
    this.#blindS = 0;
    this.#pace.note(sinceInferenceS);
    this.#handicapLost(sinceInferenceS);
    const { sure, weak } = this.#sort(sightings);
    if (this.#isCameraLost && this.settings.isCameraFollowed) this.#followCamera(sure, sinceInferenceS);
    this.#isCameraLost = false;

    const known = this.#tracks.filter(({ isConfirmed }) => isConfirmed);
    const tentative = this.#tracks.filter(({ isConfirmed }) => !isConfirmed);
    const limit = this.#tuning.limit + COORDINATES * Math.log(Math.max(1, sinceInferenceS / PATIENT_S));
    const first = this.#match(known, sure, limit);
    this.#hold(first.tracks, weak, limit * WEAK_SHARE);
    const second = this.#match(tentative, first.sightings, limit * TENTATIVE_SHARE);
    this.#create(second.sightings);
    this.#giveUp(sinceInferenceS);
    this.#noteStay(sinceInferenceS);
    this.#isFresh = false;
    return this.#report();
  }

  /** A frame without inference: predicts all tracks. */
  predict(timeNs: bigint, motion: CameraMotion | null = null): TrackerFrame {
    this.#moveTo(timeNs, motion, true);
    return this.#report();
  }

  /**
   * A frame without inference in which nothing has changed since the last one: tracks stay where they are, and the time
   * does not count as time without a sighting.
   */
  hold(timeNs: bigint): TrackerFrame {
    if (this.#startNs === null) return this.predict(timeNs);
    const timeS = Number(timeNs - this.#startNs) / 1e9;
    const seconds = timeS - this.#timeS;
    if (seconds < 0) return this.predict(timeNs);
    this.#timeS = timeS;
    this.#inferredS += seconds;
    this.#previousS += seconds;
    for (const track of this.#tracks) track.hold(seconds);
    return this.#report(true);
  }

  /** The shown tracks as of the last inference, and the usual interval between inferences. */
  keep(): { readonly usualS: number | null; readonly tracks: readonly KeptTrack[] } {
    const shown = this.#tracks.filter(({ id }) => id > 0);
    return { usualS: this.#pace.usualS, tracks: shown.map((track) => track.keep(this.#timeS)) };
  }

  /**
   * Before the first frame, which is at `timeNs`: continues the tracks of another tracker, whose last inference was
   * `sinceS` before; below zero if the stream repeats what that one has seen.
   */
  restore(tracks: readonly KeptTrack[], usualS: number | null, timeNs: bigint, sinceS: number): void {
    const gapS = Math.max(0, sinceS);
    this.#startNs = timeNs - BigInt(Math.round(gapS * 1e9));
    this.#timeS = 0;
    this.#inferredS = 0;
    this.#previousS = 0;
    this.#blindS = gapS;
    this.#tracks = tracks.map((track) => ObjectTrack.restore(track, 0));
    for (const { filter } of this.#tracks)
      for (const axis of [filter.x, filter.y]) axis.shift(axis.speed * Math.min(0, sinceS), 0);
    this.#isFresh = tracks.length === 0;
    if (usualS !== null) this.#pace.note(usualS);
  }

  /** Ends all tracks. Ids continue. */
  reset(): void {
    this.#endAll();
    this.#stay.forget();
    this.#startNs = null;
  }

  #endAll(): void {
    for (const { id } of this.#tracks) if (id > 0) this.#ended.push(id);
    this.#tracks = [];
    this.#camera.forget();
    this.#isFresh = true;
  }

  #moveTo(timeNs: bigint, motion: CameraMotion | null, isBlind = false): void {
    if (this.#startNs === null) {
      this.#startNs = timeNs;
      this.#timeS = 0;
      this.#inferredS = 0;
      this.#previousS = 0;
    }
    const timeS = Number(timeNs - this.#startNs) / 1e9;
    const seconds = timeS - this.#timeS;
    this.#timeS = timeS;
    if (motion === null) this.#isCameraLost = true;
    const { maxAgeS } = this.settings;
    const lifeS = this.#pace.stretch(maxAgeS);
    // A longer step is a gap of the source.
    if (isBlind && seconds > 0 && seconds <= lifeS) this.#blindS += seconds;
    const forgivenS = Math.min(this.#blindS, (BLIND_LIVES - 1) * maxAgeS);
    if (seconds < 0 || timeS - this.#inferredS > lifeS + forgivenS + ROUNDING_S) this.#endAll();
    for (const { filter, seenS } of this.#tracks) {
      filter.predict(seconds, seenS < this.#inferredS);
      if (motion !== null) filter.move(motion);
    }
  }

  get #stayShare(): number {
    return Math.min(1, this.#stay.seconds / this.#tuning.usualStayS);
  }

  /** The more often objects come and go, the likelier is a sighting a new object and not the return of a lost one. */
  #handicapLost(sinceInferenceS: number): void {
    const handicap = -Math.log(this.#stayShare);
    for (const track of this.#tracks)
      track.handicap = this.#timeS - track.seenS > sinceInferenceS + ROUNDING_S ? handicap : 0;
  }

  get #lifeS(): number {
    return this.#pace.stretch(this.settings.maxAgeS * this.#stayShare);
  }

  #noteStay(sinceInferenceS: number): void {
    const again = this.#listSeen().filter(({ isConfirmed, bornS }) => isConfirmed && bornS < this.#timeS);
    this.#stay.note(sinceInferenceS, again.length, this.#isFresh ? 0 : this.#begun);
    this.#begun = 0;
  }

  get #sureConfidence(): number {
    return this.settings.confidence * SURE_SHARE;
  }

  /** Sorted, so that the order of arrival does not matter. */
  #sort(sightings: readonly Sighting[]): { sure: readonly Sighting[]; weak: readonly Sighting[] } {
    const usable = sightings.filter(({ box }) => box[2] > 0 && box[3] > 0 && box.every(Number.isFinite));
    usable.sort(compareSightings);
    const count = usable.findIndex(({ confidence }) => confidence < this.#sureConfidence);
    return count === -1 ? { sure: usable, weak: [] } : { sure: usable.slice(0, count), weak: usable.slice(count) };
  }

  #followCamera(sightings: readonly Sighting[], sinceInferenceS: number): void {
    const witnesses = this.#tracks.filter(
      ({ hits, seenS }) => hits >= WITNESS_HITS && this.#timeS - seenS < WITNESS_SEEN_S,
    );
    this.#camera.follow(this.#tracks, witnesses, sightings, sinceInferenceS, (rows, columns) =>
      this.#pair(rows, columns, this.#tuning.limit),
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
      if (!track.isConfirmed && track.hits >= CONFIRMING_HITS) {
        track.isConfirmed = true;
        this.#begun += 1;
      }
    });
    return { tracks: unmatched, sightings: [...left] };
  }

  /** Weak sightings continue tracks, but not longer than a track lives without any sighting. */
  #hold(tracks: readonly ObjectTrack[], weak: readonly Sighting[], limit: number): void {
    const lifeS = this.#lifeS;
    const seen = this.#listSeen();
    const isWithin = ({ box, classId }: Sighting): boolean =>
      seen.some(({ seenBox, vote }) => vote.classId === classId && cover(box, seenBox) > DUPLICATE_COVER);
    this.#match(
      tracks.filter(({ sureS }) => this.#timeS - sureS <= lifeS),
      weak.filter((sighting) => !isWithin(sighting) && !isDuplicate(sighting, seen)),
      limit,
    );
  }

  #create(sightings: readonly Sighting[]): void {
    const isConfirmed = this.#isFresh || this.#pace.isSlow;
    for (const sighting of sightings) {
      if (sighting.confidence < this.settings.confidence) break;
      if (isDuplicate(sighting, this.#listSeen())) continue;
      this.#tracks.push(new ObjectTrack(sighting, this.#timeS, isConfirmed));
      if (isConfirmed) this.#begun += 1;
    }
  }

  #listSeen(): readonly ObjectTrack[] {
    return this.#tracks.filter(({ seenS }) => seenS === this.#timeS);
  }

  #giveUp(sinceInferenceS: number): void {
    const tentativeS = Math.max(TENTATIVE_S, sinceInferenceS);
    const lifeS = this.#lifeS;
    this.#tracks = this.#tracks.filter(({ id, seenS, isConfirmed }) => {
      const isAlive = this.#timeS - seenS <= (isConfirmed ? lifeS : tentativeS) + ROUNDING_S;
      if (!isAlive && id > 0) this.#ended.push(id);
      return isAlive;
    });
  }

  /** A missed track is shown longer if it is older, and after a single miss until the next inference if that is later. */
  #isShown({ bornS, seenS, sureS }: ObjectTrack): boolean {
    const { showPredictedS } = this.settings;
    if (seenS - sureS > Math.max(SHOW_WEAK_S, showPredictedS) + ROUNDING_S) return false;
    if (seenS >= this.#inferredS) return true;
    const sincePreviousS = this.#inferredS - this.#previousS;
    if (seenS >= this.#previousS && sincePreviousS > showPredictedS + ROUNDING_S) return true;
    return this.#timeS - seenS <= showPredictedS * Math.min(1, seenS - bornS) + ROUNDING_S;
  }

  #report(isPredicted = false): TrackerFrame {
    const shown: ShownTrack[] = [];
    for (const track of this.#tracks) {
      if (!track.isConfirmed || !this.#isShown(track)) continue;
      if (track.id === 0) track.id = this.#nextId();
      shown.push({
        id: track.id,
        box: track.showBox(this.#timeS),
        confidence: track.confidence,
        classId: track.vote.classId,
        predicted: isPredicted || track.seenS !== this.#timeS,
        ageMs: (this.#timeS - track.bornS) * 1000,
        velocity: [track.filter.x.speed, track.filter.y.speed],
      });
    }
    const ended = this.#ended.sort((a, b) => a - b);
    this.#ended = [];
    return { shown: shown.sort((a, b) => a.id - b.id), ended };
  }
}

function isDuplicate({ box, classId }: Sighting, seen: readonly ObjectTrack[]): boolean {
  return seen.some(
    ({ seenBox, vote }) => overlap(box, seenBox) > (vote.classId === classId ? DUPLICATE_OVERLAP : OTHER_CLASS_OVERLAP),
  );
}

function compareSightings(a: Sighting, b: Sighting): number {
  if (a.confidence !== b.confidence) return b.confidence - a.confidence;
  for (const i of [0, 1, 2, 3] as const) if (a.box[i] !== b.box[i]) return a.box[i] - b.box[i];
  return a.classId - b.classId;
}
