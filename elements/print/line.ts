import type { Json } from "../../schemas/json.ts";
import { toMilliseconds } from "../../schemas/time.ts";
import type { Frame } from "../element.ts";

export type PrintedFrame = Pick<Frame, "index" | "ptsNs" | "captureNs" | "format" | "meta">;

/** `{"frame":0,"pts_ms":0,"time":"…","width":640,"height":360,…}`, then the metadata (or these keys of it) sorted. */
export function formatLine({ index, ptsNs, captureNs, format, meta }: PrintedFrame, keys?: readonly string[]): string {
  const own = {
    frame: index,
    pts_ms: ptsNs === null ? null : toMilliseconds(ptsNs),
    time: new Date(Number(captureNs / 1_000_000n)).toISOString(),
    width: format.width,
    height: format.height,
  };
  // The frame's own keys come last into the object but keep their place: metadata cannot forge them.
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
