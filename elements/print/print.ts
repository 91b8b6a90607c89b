/** Writes one line of JSON per frame, for `jq`, tests and terminals. */
import { Type } from "typebox";
import type { Json } from "../../schemas/json.ts";
import { toMilliseconds } from "../../schemas/time.ts";
import { defineElement, type Frame } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "print",
  about:
    "Prints the time, size and metadata of every frame as a line of JSON. At pace fast times start in 1970: no clock is read.",
  example: `
graph: print-example
about: Print a line for every tenth of fifty frames of a moving ball.
chains:
  main:
    - source: { uri: "test:ball?frames=50" }
    - decode
    - print: { every: 10 }
`,
  properties: Type.Object({
    every: Type.Integer({ default: 1, minimum: 1, live: true, description: "Prints every Nth frame." }),
    keys: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        live: true,
        description: "Metadata keys to print. Default: all.",
      }),
    ),
  }),
  caps: "ANY",
  create(properties, services) {
    let { every, keys } = properties;
    return {
      // Awaited: a slow reader slows down the frames instead of filling memory.
      process: (frame) => (frame.index % every === 0 ? services.print(formatLine(frame, keys)) : undefined),
      update(next) {
        ({ every, keys } = next);
      },
    };
  },
});

export type PrintedFrame = Pick<Frame, "index" | "ptsNs" | "captureNs" | "format" | "meta">;

/** `{"frame":0,"pts_ms":0,"time":"…","width":640,"height":360,…}`, then the metadata (all, or these keys) sorted. */
export function formatLine({ index, ptsNs, captureNs, format, meta }: PrintedFrame, keys?: readonly string[]): string {
  const own = {
    frame: index,
    pts_ms: ptsNs === null ? null : toMilliseconds(ptsNs),
    time: new Date(Number(captureNs / 1_000_000n)).toISOString(),
    width: format.width,
    height: format.height,
  };
  // Spread twice: first for their place in the line, last so that metadata cannot override them.
  return JSON.stringify({ ...own, ...sortObject(choose(meta, keys)), ...own });
}

const choose = (meta: PrintedFrame["meta"], keys: readonly string[] | undefined): PrintedFrame["meta"] =>
  keys === undefined ? meta : Object.fromEntries(Object.entries(meta).filter(([key]) => keys.includes(key)));

function sortObject(value: { readonly [key: string]: Json }): { [key: string]: Json } {
  const sorted: { [key: string]: Json } = {};
  for (const key of Object.keys(value).sort()) sorted[key] = sortKeys(value[key] ?? null);
  return sorted;
}

function sortKeys(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  return isList(value) ? value.map(sortKeys) : sortObject(value);
}

const isList = (value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] =>
  Array.isArray(value);
