/** Tracks that are looked for. */
import { type Static, Type } from "typebox";
import type { AlertType } from "../alert-type.ts";
import { checkFilter, Filter } from "../filter.ts";
import { checkRegion, Region } from "../region.ts";
import { exampleOutput, none, seconds } from "../trigger-fields.ts";
import { FilterSearch } from "./evaluator.ts";

const schemas = {
  trigger: Type.Object(
    {
      for_seconds: seconds("A track must match the filter inside the region for so long without a break.", 0),
      once_per_track: Type.Optional(
        Type.Boolean({
          default: true,
          description:
            "Each track is told of once. Otherwise again whenever it has left, or stopped to match, and come back.",
        }),
      ),
    },
    { additionalProperties: false, description: "When a track is found." },
  ),
  region: Region,
  filter: Filter,
  parameters: none("Nothing: the filter says what is looked for."),
};

export interface FilterSearchConfiguration {
  readonly trigger: Required<Static<typeof schemas.trigger>>;
  readonly region: Region;
  readonly filter: Filter;
}

export const filterSearch: AlertType = {
  name: "filter-search",
  about:
    "Finds tracks that match a filter inside a region: of some class, size, age or speed. `triggered` for each of them, with the best picture of it in `data.patch`: `image` (a JPEG in base64), `confidence` (percent) and `timestamp`; null where none could be taken. A track that is not seen for up to a second has not left.",
  schemas,
  example: {
    alias: "Truck in the yard",
    type: "filter-search",
    trigger: { for_seconds: 2, once_per_track: true },
    region: {
      type: "image",
      polygon: [
        [0.5, 0.5],
        [1, 0.5],
        [1, 1],
        [0.5, 1],
      ],
    },
    filter: { class_names: ["truck"], min_confidence: 0.5, min_area: 0.01 },
    output: exampleOutput("alerts/yard"),
  },
  check({ region, filter }) {
    return [...checkRegion(region as Region), ...checkFilter(filter as Filter)];
  },
  create: (configuration) => new FilterSearch(configuration as unknown as FilterSearchConfiguration),
};
