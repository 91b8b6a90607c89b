import type { TrackBox } from "./mot-tracker.ts";

/** Shared area over joint area: from 0 (apart) to 1 (the same). */
export function overlap(a: TrackBox, b: TrackBox): number {
  const shared = share(a, b);
  return shared / (a[2] * a[3] + b[2] * b[3] - shared);
}

/** How much of `a` lies within `b`: from 0 (nothing) to 1 (all of it). */
export const cover = (a: TrackBox, b: TrackBox): number => share(a, b) / (a[2] * a[3]);

function share(a: TrackBox, b: TrackBox): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  return width > 0 && height > 0 ? width * height : 0;
}
