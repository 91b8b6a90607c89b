import { csv } from "./csv.ts";
import type { TracksFormat } from "./format.ts";
import { geojson } from "./geojson.ts";
import { kml } from "./kml.ts";

export const TRACKS_FORMATS = { geojson, kml, csv } as const satisfies Readonly<Record<string, TracksFormat>>;
export type TracksFormatName = keyof typeof TRACKS_FORMATS;
export const TRACKS_FORMAT_NAMES = Object.keys(TRACKS_FORMATS) as readonly TracksFormatName[];
