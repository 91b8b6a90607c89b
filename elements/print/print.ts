/** Writes one line of JSON a frame: what `jq`, a test or a person at a terminal wants to know about the stream. */
import { Type } from "typebox";
import { defineElement } from "../element.ts";
import { formatLine } from "./line.ts";

export default defineElement({
  kind: "sink",
  name: "print",
  about: "Prints the time, size and metadata of every frame as a line of JSON.",
  example: `
graph: print-example
about: Fifty frames of a moving ball, one line each.
chains:
  main:
    - source: { uri: "test:ball?frames=50" }
    - decode
    - print
`,
  properties: Type.Object({}),
  caps: "ANY",
  create: (_, services) => ({
    // Awaited: a slow reader of the lines slows the frames down instead of filling memory.
    process: (frame) => services.print(formatLine(frame)),
  }),
});
