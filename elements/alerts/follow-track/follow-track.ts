/** One track and where it goes. */
import { type Static, Type } from "typebox";
import type { AlertType } from "../alert-type.ts";
import { checkFilter, Filter } from "../filter.ts";
import { checkRegion, Region } from "../region.ts";
import { exampleOutput, none, seconds } from "../trigger-fields.ts";
import { FollowTrack } from "./evaluator.ts";

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
