/** Pad names: `video_0` matches the template `video_%u`, `sink_1::xpos` is a property of the pad `sink_1`. */
import type { PadInfo } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";

const NUMBER = /%[ud]/;

export function matchesTemplate(pad: PadInfo, name: string): boolean {
  if (pad.name === name) return true;
  const pattern = pad.name
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replace(NUMBER, "\\d+")
    .replace(/%s/g, ".+");
  return pad.presence !== "always" && new RegExp(`^${pattern}$`).test(name);
}

/** `video_%u` instead of `video_0`: any pad of that template. */
export const isTemplate = (name: string): boolean => name.includes("%");

/** A template for any number of pads. */
export const isNumbered = (pad: PadInfo): boolean => pad.presence !== "always" && pad.name.includes("%");

/**
 * The lowest free number, as GStreamer would choose. Null where the number has a meaning: `sink_%d` of mpegtsmux is a PID.
 */
export function numberPad(pad: PadInfo, isUsed: (name: string) => boolean): string | null {
  if (!pad.name.includes("%u")) return null;
  for (let number = 0; ; number++) {
    const name = pad.name.replace("%u", String(number));
    if (!isUsed(name)) return name;
  }
}

export const listPads = (pads: readonly PadInfo[]): string => pads.map(({ name }) => name).join(", ");

/** `video_0` for `vdieo_0`: templates with the number that was written. */
export function suggestPad(name: string, pads: readonly PadInfo[]): string | undefined {
  const number = /(?<!\d)\d+$/.exec(name)?.[0] ?? "0";
  return suggest(
    name,
    pads.map((pad) => pad.name.replace(NUMBER, number)),
  );
}

export interface PadProperty {
  readonly pad: string;
  readonly property: string;
}

/** Null for a property of the element itself. */
export function splitPadProperty(name: string): PadProperty | null {
  const colons = name.indexOf("::");
  return colons < 0 ? null : { pad: name.slice(0, colons), property: name.slice(colons + 2) };
}
