import type { Box } from "../../schemas/detections.ts";
import { type Lens, offsetDown, offsetRight } from "./camera.ts";
import type { Size } from "./sizes.ts";

/** A box that is nearer to the frame's edge than so much of it is cut off there: how large it would be, nobody knows. */
const EDGE = 0.002;

export const isCutBelow = ([, top, , height]: Box): boolean => top + height > 1 - EDGE;

export const isCutAside = ([left, , width]: Box): boolean => left < EDGE || left + width > 1 - EDGE;

export const isCut = (box: Box): boolean => box[1] < EDGE || isCutAside(box) || isCutBelow(box);

/**
 * Metres to something of this size that fills the box. Height and width both count where both are known: their product
 * depends less on from where one looks than either of them. Null for a box that is cut off, and for one without extent.
 */
export function estimateDistanceM({ heightM, widthM }: Size, lens: Lens, box: Box): number | null {
  if (isCut(box)) return null;
  const [left, top, width, height] = box;
  const right = offsetRight(lens, left + width / 2);
  const down = offsetDown(lens, top + height / 2);
  const byHeight = fit(heightM, offsetDown(lens, top), offsetDown(lens, top + height), Math.sqrt(1 + right * right));
  const byWidth = fit(widthM, offsetRight(lens, left), offsetRight(lens, left + width), Math.sqrt(1 + down * down));
  const distanceM = byHeight === null || byWidth === null ? (byHeight ?? byWidth) : Math.sqrt(byHeight * byWidth);
  return distanceM !== null && Number.isFinite(distanceM) ? distanceM : null;
}

/** The distance at which `sizeM` fills the angle between two offsets from the line of sight, seen `away` from it. */
function fit(sizeM: number | null, low: number, high: number, away: number): number | null {
  if (sizeM === null) return null;
  const angle = Math.atan(high / away) - Math.atan(low / away);
  return angle > 0 ? sizeM / (2 * Math.tan(angle / 2)) : null;
}
