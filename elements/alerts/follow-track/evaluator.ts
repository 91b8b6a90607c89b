import { type Evaluator, NO_VERDICTS, type Scene, type Sighting, type Verdict } from "../alert-type.ts";
import { Sieve } from "../filter.ts";
import { Area } from "../region.ts";
import type { FollowTrackConfiguration } from "./follow-track.ts";

/** The one that is followed. */
interface Quarry {
  readonly id: number;
  readonly takenMs: number;
  sighting: Sighting;
  seenMs: number;
  toldMs: number;
}

type LossReason = "track_ended" | "not_seen" | "stream_jumped";

export class FollowTrack implements Evaluator {
  readonly #area: Area;
  readonly #sieve: Sieve;
  readonly #parameters: FollowTrackConfiguration["parameters"];
  #quarry: Quarry | null = null;
  #previousId: number | null = null;
  #hasJumped = false;

  constructor({ region, filter, parameters }: FollowTrackConfiguration) {
    this.#area = new Area(region);
    this.#sieve = new Sieve(filter);
    this.#parameters = parameters;
  }

  see(scene: Scene): readonly Verdict[] {
    const quarry = this.#quarry;
    if (quarry === null) return this.#take(scene);
    if (this.#hasJumped) return this.#lose(quarry, "stream_jumped", scene);
    const seen = scene.sightings.find(({ track }) => track.id === quarry.id && !track.predicted);
    if (seen !== undefined) {
      quarry.sighting = seen;
      quarry.seenMs = scene.timeMs;
    }
    if (scene.ended.includes(quarry.id)) return this.#lose(quarry, "track_ended", scene);
    if (scene.inferred && scene.timeMs - quarry.seenMs >= this.#parameters.lost_after_seconds * 1000)
      return this.#lose(quarry, "not_seen", scene);
    if (seen === undefined || scene.timeMs - quarry.toldMs < this.#parameters.interval_seconds * 1000)
      return NO_VERDICTS;
    quarry.toldMs = scene.timeMs;
    const data = { track_id: quarry.id, followed_seconds: (scene.timeMs - quarry.takenMs) / 1000 };
    return [{ event: "updated", sightings: [seen], data }];
  }

  forget(): void {
    this.#hasJumped = this.#quarry !== null;
  }

  #lose(quarry: Quarry, reason: LossReason, scene: Scene): readonly Verdict[] {
    this.#quarry = null;
    this.#hasJumped = false;
    this.#previousId = quarry.id;
    const data = {
      track_id: quarry.id,
      reason,
      last_seen: new Date(quarry.seenMs).toISOString(),
      followed_seconds: (quarry.seenMs - quarry.takenMs) / 1000,
    };
    return [{ event: "cleared", sightings: [quarry.sighting], data }, ...this.#take(scene)];
  }

  #take({ timeMs, sightings, ended }: Scene): readonly Verdict[] {
    let chosen: Sighting | null = null;
    for (const sighting of sightings)
      if (this.#isCandidate(sighting) && (chosen === null || this.#isBetter(sighting, chosen)))
        if (!ended.includes(sighting.track.id)) chosen = sighting;
    if (chosen === null) return NO_VERDICTS;
    const { id } = chosen.track;
    this.#quarry = { id, takenMs: timeMs, sighting: chosen, seenMs: timeMs, toldMs: timeMs };
    return [{ event: "triggered", sightings: [chosen], data: { track_id: id, previous_track_id: this.#previousId } }];
  }

  #isCandidate(sighting: Sighting): boolean {
    const wanted = this.#parameters.track_id;
    if (wanted !== undefined && sighting.track.id !== wanted) return false;
    if (!this.#sieve.isSeen(sighting) || !this.#sieve.passes(sighting)) return false;
    return this.#area.has(this.#area.xOf(sighting), this.#area.yOf(sighting));
  }

  /** Of two that are alike the one with the lower id, which came first. */
  #isBetter({ track: a }: Sighting, { track: b }: Sighting): boolean {
    const lead = this.#lead(a) - this.#lead(b);
    return lead > 0 || (lead === 0 && a.id < b.id);
  }

  #lead({ box, confidence, ageMs }: Sighting["track"]): number {
    const { select = "largest" } = this.#parameters;
    return select === "largest" ? box[2] * box[3] : select === "most_confident" ? confidence : ageMs;
  }
}
