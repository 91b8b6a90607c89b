import type { MotTracker } from "./mot-tracker.ts";
import { ByteTracker } from "./published/byte.ts";
import { SortTracker } from "./published/sort.ts";
import { DEFAULT_SETTINGS, type TrackerSettings } from "./settings.ts";
import { Tracker } from "./tracker.ts";

export type Preset = "default" | "byte" | "sort";

/** Ours with its own settings, or another's method with the settings its authors published. */
export function createTracker(preset: Preset, options: Partial<TrackerSettings> = {}): MotTracker {
  if (preset === "byte") return new ByteTracker();
  if (preset === "sort") return new SortTracker();
  const tracker = new Tracker({ ...DEFAULT_SETTINGS, ...options });
  return { update: (timeNs, sightings) => tracker.update(timeNs, sightings).shown };
}
