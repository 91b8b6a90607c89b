/** Expressions of graphs: their syntax, and their variables from expressions/variables.ts. */
import { MAX_CHARS, MAX_STEPS } from "../../expressions/limits.ts";
import { FRAME_VARIABLES, OBJECT_VARIABLES } from "../../expressions/variables.ts";
import { code, fence, made, table } from "./markdown.ts";

const WRITERS = { detections: "detect", tracks: "track", places: "geolocate" };

const EXAMPLE = `
graph: fast-cars
about: Print the tracks of cars that are faster than 8 m/s.
chains:
  main:
    - source
    - decode
    - detect
    - telemetry
    - track
    - geolocate
    - filter: "class_name == 'car' && speed_mps > 8"
    - print: { keys: [tracks] }
`;

const VALUES = `
graph: crowd
about: Print the tracks of people that stand still while there is a crowd.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - count: { as: people, where: "class_name == 'person'" }
    - map:
        set: { still: "abs(velocity_x) < 0.01 && abs(velocity_y) < 0.01" }
        frame: { crowded: "people > 10" }
    - filter: "crowded && still"
    - print: { keys: [tracks, counts, values] }
`;

export function writeExpressions(): string {
  const variables = [...Object.entries(OBJECT_VARIABLES), ...Object.entries(FRAME_VARIABLES)];
  return [
    made("expressions/variables.ts"),
    "# Expressions",
    "Some properties of elements are expressions: conditions on objects, or values that are computed for them. They are written in [CEL](https://cel.dev), the Common Expression Language. The compiler checks each with the variables that elements upstream provide, and reports faults with line and column.",
    fence("yaml", EXAMPLE),
    "Without `geolocate`, this graph is rejected: ``filter.where: `speed_mps` needs `geolocate` upstream``.",
    "## Variables",
    table(
      ["Variable", "Type", "Needs", "Description"],
      variables.map(([name, { type, from, about }]) => [
        code(name),
        type,
        from === null ? "" : `[${WRITERS[from]}](elements.md#${WRITERS[from]})`,
        about,
      ]),
    ),
    "The last two are those of the frame, the others those of an object: a track, or without `track` a detection. Behind `track`, detections are still in the metadata; they have nothing that only tracks have.",
    "**Unknown numbers.** A number may be unknown, such as the speed of a track that has just appeared. No comparison with an unknown number holds, neither `speed_mps > 8` nor `speed_mps <= 8`; `known(speed_mps)` is false.",
    "## Values of the graph",
    "[map](elements.md#map) computes values of every object (`set`) or of the frame (`frame`), and [count](elements.md#count) a number of objects. Both are variables of expressions downstream, typed by the expression that they come from. Values of objects are in `values` of each object in the metadata and in messages, values of the frame in `values`, and counts in `counts` of both. `detect` and `track` write new objects, which do not have the values of those before.",
    fence("yaml", VALUES),
    "## Syntax",
    table(
      ["", ""],
      [
        ["values", "`8`, `0.5`, `'car'`, `\"car\"`, `true`, `false`; all numbers are floating-point numbers"],
        ["comparison", "`==` `!=` `<` `<=` `>` `>=`, `class_name in ['car', 'truck']`"],
        ["logic", "`&&` <code>&#124;&#124;</code> `!`, `condition ? this : that`"],
        ["arithmetic", "`+` `-` `*` `/`, `abs(x)`, `round(x)`, `min(x, y)`, `max(x, y)`, `known(x)`"],
        [
          "texts",
          "`+`, `startsWith`, `endsWith`, `contains`, `lowerAscii`, `upperAscii`: `class_name.startsWith('tr')`; `string(x)`",
        ],
        ["lists", "`['car', 'truck'].exists(name, class_name.contains(name))`, `all`, `exists_one`"],
      ],
    ),
    `Expressions cannot reach files, the network, the clock or the program, and have no fields, dates and regular expressions. They have up to ${MAX_CHARS} characters and take up to ${MAX_STEPS} steps, which the compiler counts.`,
  ].join("\n\n");
}
