/** Crowds: some cell of a grid holds many tracks for a while. */
import { type Static, Type } from "typebox";
import type { AlertType } from "../alert-type.ts";
import { checkFilter, Filter } from "../filter.ts";
import { checkRegion, Region } from "../region.ts";
import { count, exampleOutput, seconds } from "../trigger-fields.ts";
import { GridDensity } from "./evaluator.ts";

const MOST_CELLS_A_SIDE = 50;

const side = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ default: fallback, minimum: 1, maximum: MOST_CELLS_A_SIDE, description }));

const schemas = {
  trigger: Type.Object(
    {
      count: count("So many tracks in one cell, at least, make it dense.", 5),
      for_seconds: seconds("For so long without a break, before it is told of.", 3),
      cooldown_seconds: seconds(
        "So many seconds at least between two `triggered`, and before an `updated`. That it is over is always told at once.",
        10,
      ),
    },
    { additionalProperties: false, description: "When a cell is dense." },
  ),
  region: Region,
  filter: Filter,
  parameters: Type.Object(
    {
      rows: side("Cells from the top of the region to its bottom; on the map from south to north.", 4),
      columns: side("Cells from the left of the region to its right; on the map from west to east.", 4),
    },
    {
      additionalProperties: false,
      description: "The grid: cells of the same size in the smallest upright rectangle around the region.",
    },
  ),
};

export interface GridDensityConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
  readonly parameters: Required<Static<typeof schemas.parameters>>;
}

export const gridDensity: AlertType = {
  name: "grid-density",
  about:
    "Tells where it gets crowded. The region is divided into a grid; a cell that holds at least `count` tracks for `for_seconds` is dense. `triggered` when there is a dense cell where there was none, `updated` when other cells are dense than were told of, `cleared` when none is any more. A track that is not seen for a moment counts where it was, for up to a second.",
  schemas,
  example: {
    alias: "Crowd at the entrance",
    type: "grid-density",
    trigger: { count: 5, for_seconds: 10, cooldown_seconds: 60 },
    region: {
      type: "image",
      polygon: [
        [0.1, 0.4],
        [0.9, 0.4],
        [1, 1],
        [0, 1],
      ],
    },
    filter: { class_names: ["person"], min_confidence: 0.5 },
    parameters: { rows: 3, columns: 4 },
    output: exampleOutput("alerts/crowd"),
  },
  check({ region, filter }) {
    return [...checkRegion(region as Region), ...checkFilter(filter as Filter)];
  },
  create: (configuration) => new GridDensity(configuration as unknown as GridDensityConfiguration),
};
