import type { MotTracker } from "../../elements/track/mot-tracker.ts";
import { DEFAULT_SETTINGS, DEFAULT_TUNING, type TrackerTuning } from "../../elements/track/settings.ts";
import { Tracker } from "../../elements/track/tracker.ts";
import { ByteTracker } from "./byte.ts";
import { OcsortTracker } from "./ocsort.ts";
import { SortTracker } from "./sort.ts";

export const PRESETS = ["default", "byte", "ocsort", "sort"] as const;
export type Preset = (typeof PRESETS)[number];

/** Our tracker, or a published one with its published settings, which `tuning` does not change. */
export function createTracker(preset: Preset, tuning: TrackerTuning = DEFAULT_TUNING): MotTracker {
  if (preset === "byte") return new ByteTracker();
  if (preset === "ocsort") return new OcsortTracker();
  if (preset === "sort") return new SortTracker();
  let lastId = 0;
  const tracker = new Tracker(DEFAULT_SETTINGS, () => ++lastId, tuning);
  return { update: (timeNs, sightings) => tracker.update(timeNs, sightings).shown };
}
