/** Writes one line of JSON a frame: what `jq`, a test or a person at a terminal wants to know about the stream. */
import { Type } from "typebox";
import { defineElement } from "../element.ts";
import { formatLine } from "./line.ts";

export default defineElement({
  kind: "sink",
  name: "print",
  about:
    "Prints the time, size and metadata of every frame as a line of JSON. At pace fast times begin with 1970: nothing reads the clock.",
  example: `
graph: print-example
about: Fifty frames of a moving ball, one line for every tenth.
chains:
  main:
    - source: { uri: "test:ball?frames=50" }
    - decode
    - print: { every: 10 }
`,
  properties: Type.Object({
    every: Type.Integer({ default: 1, minimum: 1, live: true, description: "Prints one frame in so many." }),
    keys: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        live: true,
        description: "Metadata to print, by its keys; without it, all there is.",
      }),
    ),
  }),
  caps: "ANY",
  create(properties, services) {
    let { every, keys } = properties;
    return {
      // Awaited: a slow reader of the lines slows the frames down instead of filling memory.
      process: (frame) => (frame.index % every === 0 ? services.print(formatLine(frame, keys)) : undefined),
      update(next) {
        ({ every, keys } = next);
      },
    };
  },
});
