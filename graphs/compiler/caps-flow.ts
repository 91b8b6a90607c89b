/** What an element gives, as far as that follows from what it is given. */
import { type Caps, type CapsStructure, type CapsValue, intersectCaps, parseCaps } from "./caps.ts";
import { capsOf } from "./pads.ts";
import type { Part } from "./resolved.ts";

/** Elements that give what they are given, whatever their pads say. */
const PASSING = new Set([
  "queue",
  "queue2",
  "tee",
  "identity",
  "valve",
  "clocksync",
  "capsfilter",
  "watchdog",
  "keyframes",
  "rtptimes",
]);

/** Elements that leave these fields of raw video as they are. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  videoconvert: ["width", "height", "framerate", "pixel-aspect-ratio"],
  videoscale: ["format", "framerate"],
  videoconvertscale: ["framerate"],
  videorate: ["format", "width", "height", "pixel-aspect-ratio"],
  videoflip: ["format", "framerate"],
};

export function outputOf(part: Part, arriving: Caps): Caps {
  const source = part.pads.find((pad) => pad.direction === "src");
  if (source === undefined) return "any";
  if (part.kind === "typescript" || PASSING.has(part.factory)) return intersectCaps(arriving, capsOf(part, source));
  const isRawVideo = typeof arriving !== "string" && arriving.every(({ mediaType }) => mediaType === "video/x-raw");
  const onward = part.onward === null ? "any" : (parseCaps(part.onward) ?? "any");
  if (isRawVideo && arriving.length > 0) {
    if (part.factory === "decodebin") return intersectCaps(arriving, onward);
    const kept = Object.hasOwn(KEPT, part.factory) ? KEPT[part.factory] : undefined;
    if (kept !== undefined) {
      const left = arriving.map((structure) => keepFields(structure, kept, part.factory === "videoflip"));
      return intersectCaps(intersectCaps(left, capsOf(part, source)), onward);
    }
  }
  // Only what the pads say: several source pads may differ, and are told apart when one is chosen.
  return onward;
}

function keepFields(structure: CapsStructure, kept: readonly string[], turns: boolean): CapsStructure {
  const fields = new Map([...structure.fields].filter(([name]) => kept.includes(name)));
  const { width, height } = { width: structure.fields.get("width"), height: structure.fields.get("height") };
  // A picture on its side has the one for the other, and whether it lies on its side may be the stream's to say.
  const side = turns ? uniteValues(width, height) : null;
  if (side !== null) fields.set("width", side).set("height", side);
  return { ...structure, features: "ANY", fields };
}

function uniteValues(a: CapsValue | undefined, b: CapsValue | undefined): CapsValue | null {
  if (a?.kind === "choices" && b?.kind === "choices")
    return { kind: "choices", choices: [...new Set([...a.choices, ...b.choices])] };
  if (a?.kind === "range" && b?.kind === "range")
    return { kind: "range", minimum: Math.min(a.minimum, b.minimum), maximum: Math.max(a.maximum, b.maximum) };
  return null;
}
