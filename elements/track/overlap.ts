import type { TrackBox } from "./mot-tracker.ts";

/** Shared area over joint area: from 0 (apart) to 1 (the same). */
export function overlap(a: TrackBox, b: TrackBox): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  if (!(width > 0 && height > 0)) return 0;
  const shared = width * height;
  return shared / (a[2] * a[3] + b[2] * b[3] - shared);
}
