/** Traffic: so many tracks cross a line within a while. */
import { type Static, Type } from "typebox";
import type { AlertType } from "../alert-type.ts";
import { checkFilter, Filter } from "../filter.ts";
import { checkPoints, MapPoint, SpaceName } from "../region.ts";
import { count, exampleOutput, seconds } from "../trigger-fields.ts";
import { FlowControl } from "./evaluator.ts";

const schemas = {
  trigger: Type.Object(
    {
      count: count(
        "So many tracks crossed the line within the window, at least. Each counts once, however often it did.",
        1,
      ),
      direction: Type.Optional(
        Type.Unsafe<"forward" | "backward" | "any">(
          Type.Enum(["forward", "backward", "any"], {
            default: "any",
            description:
              "`forward`: from the left of the line to its right, as seen by somebody who goes from its first point to its second; of a line from top to bottom that is from the right of the picture to its left.",
          }),
        ),
      ),
      cooldown_seconds: seconds(
        "So many seconds at least between two notices. With 0, every further crossing is told while enough tracks have crossed.",
        0,
      ),
    },
    { additionalProperties: false, description: "How many tracks must cross, and which way." },
  ),
  region: Type.Object(
    {
      type: SpaceName,
      line: Type.Unsafe<[[x: number, y: number], [x: number, y: number]]>(
        Type.Array(MapPoint, {
          minItems: 2,
          maxItems: 2,
          description:
            "From its first point to its second. A track crosses it where the middle of the lower edge of its box does, its ends included. On the map it takes the shorter way around the earth.",
        }),
      ),
    },
    { additionalProperties: false, description: "The line." },
  ),
  filter: Filter,
  parameters: Type.Object(
    { window_seconds: seconds("Crossings of the last so many seconds count.", 10, 0.1) },
    { additionalProperties: false, description: "Over which time tracks are counted." },
  ),
};

export interface FlowControlConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Required<Static<typeof schemas.region>>;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const flowControl: AlertType = {
  name: "flow-control",
  about:
    "Counts tracks that cross a line. `triggered` when at least `count` tracks crossed it within `window_seconds` in that direction; the notice names them, and how many crossings there were each way since the alert began. A track has crossed once it is past the line by a twentieth of the size of its box, on the map by half a metre: who stands on the line and sways is not counted again and again, and who only touches it not at all. Between two sightings a track goes straight.",
  schemas,
  example: {
    alias: "Cars entering",
    type: "flow-control",
    trigger: { count: 3, direction: "forward", cooldown_seconds: 30 },
    region: {
      type: "image",
      line: [
        [0.2, 0.6],
        [0.8, 0.6],
      ],
    },
    filter: { class_names: ["car", "truck"] },
    parameters: { window_seconds: 60 },
    output: exampleOutput("alerts/gate"),
  },
  check(configuration) {
    const { region, filter } = configuration as unknown as FlowControlConfiguration;
    const [a, b] = region.line;
    const isPoint = a[1] === b[1] && (region.type === "geo" ? (a[0] - b[0]) % 360 === 0 : a[0] === b[0]);
    const message = "has no length; expected two different points";
    return [
      ...checkPoints(region.type, region.line, "/region/line"),
      ...(isPoint ? [{ path: "/region/line", message }] : []),
      ...checkFilter(filter),
    ];
  },
  create: (configuration) => new FlowControl(configuration as unknown as FlowControlConfiguration),
};
