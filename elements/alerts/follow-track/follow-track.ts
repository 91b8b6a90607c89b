/** Follows one track and reports its position. */
import { type Static, Type } from "typebox";
import {
  type AlertEvent,
  type AlertType,
  type Evaluator,
  exampleOutput,
  NO_EVENTS,
  none,
  type Scene,
  type Sighting,
  seconds,
} from "../alert-type.ts";
import { checkFilter, Filter, TrackFilter } from "../filter.ts";
import { Area, checkRegion, Region } from "../region.ts";

const schemas = {
  trigger: none("None: reporting starts as soon as a track is selected."),
  region: Region,
  filter: Filter,
  parameters: Type.Object(
    {
      track_id: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "Follow only this track. Not together with `select`.",
        }),
      ),
      select: Type.Optional(
        Type.Unsafe<"largest" | "most_confident" | "first">(
          Type.Enum(["largest", "most_confident", "first"], {
            description:
              "Which of the matching tracks to follow: the one with the largest box, with the highest confidence, or the oldest one. Default: `largest`, unless `track_id` is given.",
          }),
        ),
      ),
      interval_seconds: seconds("Time between two reported positions.", 1, 0.1),
      lost_after_seconds: seconds(
        "The track is lost when it was not detected for this time, or when tracking ended it.",
        2,
        0.1,
      ),
    },
    { additionalProperties: false, description: "Which track to follow, and how." },
  ),
};

interface FollowTrackConfiguration {
  readonly region: Region;
  readonly filter: Filter;
  readonly parameters: Static<typeof schemas.parameters> & {
    readonly interval_seconds: number;
    readonly lost_after_seconds: number;
  };
}

export const followTrack: AlertType = {
  name: "follow-track",
  about:
    "Reports the position of one track. `triggered` when a track is selected, `updated` with its position every `interval_seconds` while it is detected, `cleared` with the reason when it is lost; then the next track is selected, and the notification names both. Region and filter apply to the selection only: a selected track is followed everywhere. With `track_id` no other track is selected, and that track again when it returns.",
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
    const message = "cannot be given together with select: remove one of the two";
    return [
      ...checkRegion(region),
      ...checkFilter(filter),
      ...(isTwice ? [{ path: "/parameters/track_id", message }] : []),
    ];
  },
  create: (configuration) => new FollowTrack(configuration as unknown as FollowTrackConfiguration),
};

interface FollowedTrack {
  readonly id: number;
  readonly selectedMs: number;
  sighting: Sighting;
  seenMs: number;
  notifiedMs: number;
}

type LossReason = "track_ended" | "not_seen" | "stream_jumped";

class FollowTrack implements Evaluator {
  readonly #area: Area;
  readonly #filter: TrackFilter;
  readonly #parameters: FollowTrackConfiguration["parameters"];
  #followed: FollowedTrack | null = null;
  #previousId: number | null = null;
  #hasJumped = false;

  constructor({ region, filter, parameters }: FollowTrackConfiguration) {
    this.#area = new Area(region);
    this.#filter = new TrackFilter(filter);
    this.#parameters = parameters;
  }

  see(scene: Scene): readonly AlertEvent[] {
    const followed = this.#followed;
    if (followed === null) return this.#select(scene);
    if (this.#hasJumped) return this.#lose(followed, "stream_jumped", scene);
    const seen = scene.sightings.find(({ track }) => track.id === followed.id && !track.predicted);
    if (seen !== undefined) {
      followed.sighting = seen;
      followed.seenMs = scene.timeMs;
    }
    if (scene.ended.includes(followed.id)) return this.#lose(followed, "track_ended", scene);
    if (scene.inferred && scene.timeMs - followed.seenMs >= this.#parameters.lost_after_seconds * 1000)
      return this.#lose(followed, "not_seen", scene);
    if (seen === undefined || scene.timeMs - followed.notifiedMs < this.#parameters.interval_seconds * 1000)
      return NO_EVENTS;
    followed.notifiedMs = scene.timeMs;
    const data = { track_id: followed.id, followed_seconds: (scene.timeMs - followed.selectedMs) / 1000 };
    return [{ event: "updated", sightings: [seen], data }];
  }

  forget(): void {
    this.#hasJumped = this.#followed !== null;
  }

  #lose(followed: FollowedTrack, reason: LossReason, scene: Scene): readonly AlertEvent[] {
    this.#followed = null;
    this.#hasJumped = false;
    this.#previousId = followed.id;
    const data = {
      track_id: followed.id,
      reason,
      last_seen: new Date(followed.seenMs).toISOString(),
      followed_seconds: (followed.seenMs - followed.selectedMs) / 1000,
    };
    return [{ event: "cleared", sightings: [followed.sighting], data }, ...this.#select(scene)];
  }

  #select({ timeMs, sightings, ended }: Scene): readonly AlertEvent[] {
    let chosen: Sighting | null = null;
    for (const sighting of sightings)
      if (this.#isCandidate(sighting) && (chosen === null || this.#isBetter(sighting, chosen)))
        if (!ended.includes(sighting.track.id)) chosen = sighting;
    if (chosen === null) return NO_EVENTS;
    const { id } = chosen.track;
    this.#followed = { id, selectedMs: timeMs, sighting: chosen, seenMs: timeMs, notifiedMs: timeMs };
    return [{ event: "triggered", sightings: [chosen], data: { track_id: id, previous_track_id: this.#previousId } }];
  }

  #isCandidate(sighting: Sighting): boolean {
    const wanted = this.#parameters.track_id;
    if (wanted !== undefined && sighting.track.id !== wanted) return false;
    if (!this.#filter.isSeen(sighting) || !this.#filter.passes(sighting)) return false;
    return this.#area.has(this.#area.xOf(sighting), this.#area.yOf(sighting));
  }

  /** On a tie the lower id, which is the older track. */
  #isBetter({ track: a }: Sighting, { track: b }: Sighting): boolean {
    const lead = this.#rate(a) - this.#rate(b);
    return lead > 0 || (lead === 0 && a.id < b.id);
  }

  #rate({ box, confidence, ageMs }: Sighting["track"]): number {
    const { select = "largest" } = this.#parameters;
    return select === "largest" ? box[2] * box[3] : select === "most_confident" ? confidence : ageMs;
  }
}
