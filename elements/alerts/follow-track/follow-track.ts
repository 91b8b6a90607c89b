/** One track and where it goes. */
import { type Static, Type } from "typebox";
import {
  type AlertType,
  type Evaluator,
  exampleOutput,
  NO_VERDICTS,
  none,
  type Scene,
  type Sighting,
  seconds,
  type Verdict,
} from "../alert-type.ts";
import { checkFilter, Filter, Sieve } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";

const schemas = {
  trigger: none("Nothing: whoever is followed is told of from the first moment."),
  region: Region,
  filter: Filter,
  parameters: Type.Object(
    {
      track_id: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "This track and no other. Not together with `select`.",
        }),
      ),
      select: Type.Optional(
        Type.Unsafe<"largest" | "most_confident" | "first">(
          Type.Enum(["largest", "most_confident", "first"], {
            description:
              "Whom to take of those that match: the one with the largest box, the one that is seen most surely, or the one that has been there longest. `largest` where neither this nor `track_id` is given.",
          }),
        ),
      ),
      interval_seconds: seconds("Its position is told every so many seconds.", 1, 0.1),
      lost_after_seconds: seconds("It is lost when it was not seen for so long, or when tracking gave it up.", 2, 0.1),
    },
    { additionalProperties: false, description: "Whom to follow, and how." },
  ),
};

type Followed = Static<typeof schemas.parameters> & {
  readonly interval_seconds: number;
  readonly lost_after_seconds: number;
};

export interface FollowTrackConfiguration {
  readonly region: Region;
  readonly filter: Filter;
  readonly parameters: Followed;
}

export const followTrack: AlertType = {
  name: "follow-track",
  about:
    "Tells the position of one track again and again. `triggered` when a track is taken, `updated` with its position every `interval_seconds` while it is seen, `cleared` with the reason when it is lost; then the next one is taken, and the notice names both. Region and filter say who may be taken; whoever was taken is followed wherever it goes. With `track_id` nobody else is taken, but that track again should it come back.",
  schemas,
  example: {
    alias: "Follow the largest vehicle",
    type: "follow-track",
    filter: { class_names: ["car", "truck", "bus"], min_confidence: 0.4 },
    parameters: { select: "largest", interval_seconds: 1, lost_after_seconds: 3 },
    output: exampleOutput("alerts/follow"),
  },
  check(configuration) {
    const { region, filter, parameters } = configuration as unknown as FollowTrackConfiguration;
    const isTwice = parameters.track_id !== undefined && parameters.select !== undefined;
    const message = "cannot be given together with select: name a track, or say how to choose one";
    return [
      ...checkRegion(region),
      ...checkFilter(filter),
      ...(isTwice ? [{ path: "/parameters/track_id", message }] : []),
    ];
  },
  create: (configuration) => new FollowTrack(configuration as unknown as FollowTrackConfiguration),
};

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
