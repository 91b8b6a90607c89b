/** Whether what was read is a plate. The bar is high: a plate that is not told costs little, one that is wrong much. */
import type { Plate } from "../../schemas/enhancement.ts";
import type { Line } from "./read-line.ts";
import type { TextRegion } from "./text-regions.ts";

/** Pixels of the picture: below, letters are guesses. */
const LEAST_HEIGHT = 11;
/** Width by height: one line of letters. */
const SHAPE = { least: 2, most: 8 };
const LEAST_MEAN = 0.92;
const LEAST_LETTER = 0.7;
/** Letters and digits, as plates of most countries have them. Without a letter it is a fleet or telephone number. */
const PLATE = /^(?=.*[A-Z])(?=(?:.*\d){2})[A-Z0-9]{4,10}$/;

export const isPlateShaped = ({ width, height }: Pick<TextRegion, "width" | "height">): boolean =>
  height >= LEAST_HEIGHT && width / height >= SHAPE.least && width / height <= SHAPE.most;

/** Of the same place, cut out and scaled differently: all must say the same, each surely. */
export function judgePlate(lines: readonly (Line | null)[]): Plate | null {
  const [first] = lines;
  if (first === undefined || first === null || !PLATE.test(first.text)) return null;
  const isSure = (line: Line | null): line is Line =>
    line !== null && line.text === first.text && line.mean >= LEAST_MEAN && line.least >= LEAST_LETTER;
  if (!lines.every(isSure)) return null;
  const mean = lines.reduce((sum, line) => sum + (line?.mean ?? 0), 0) / lines.length;
  return { text: first.text, confidence: Math.round(mean * 1000) / 10 };
}
