/** Decodes a line of text from the network's output per column, and decides whether it is a plate. Pure. */
import type { Plate } from "../../schemas/enhancement.ts";
import { findLargest } from "../colour/lab.ts";
import type { TextRegion } from "./text-regions.ts";

export interface Line {
  readonly text: string;
  /** Probability of the least certain character, from 0 to 1. */
  readonly least: number;
  readonly mean: number;
}

/** Greedy CTC with `classes` probabilities per column. Null if a character does not occur on plates. */
export function readLine(probabilities: Float32Array, classes: number): Line | null {
  const certainty: number[] = [];
  let text = "";
  let before = BLANK;
  for (let from = 0; from < probabilities.length; from += classes) {
    const column = probabilities.subarray(from, from + classes);
    const best = findLargest(column);
    const probability = column[best] as number;
    if (best !== BLANK && best === before) certainty.push(Math.max(certainty.pop() ?? 0, probability));
    else if (best !== BLANK) {
      const character = CHARACTERS.get(best);
      if (character === undefined) return null;
      text += character;
      certainty.push(probability);
    }
    before = best;
  }
  const isKept = (character: string): boolean => /[A-Z0-9]/.test(character);
  const kept = certainty.filter((_, i) => isKept(text[i] ?? ""));
  if (kept.length === 0) return null;
  const mean = kept.reduce((sum, one) => sum + one, 0) / kept.length;
  return { text: [...text].filter(isKept).join(""), least: Math.min(...kept), mean };
}

/** The network has 6,624 classes. These are the characters of plates in PP-OCR's dictionary for Chinese and English. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  "0123456789": [26, 93, 25, 94, 632, 631, 933, 29, 27, 1109],
  ABCDEFGHIJKLMNOPQRSTUVWXYZ: [
    ...[1221, 3588, 4244, 1220, 4381, 1219, 5128, 425, 3587, 2697, 5193, 3506, 3639],
    ...[3589, 4741, 1310, 4731, 5127, 1217, 1381, 4497, 5405, 5033, 5200, 1218, 4136],
  ],
  /** Separators between the groups of a plate: dropped from the text. */
  " -.·•:": [6624, 28, 466, 5529, 5545, 32],
};

/** The class between characters. */
const BLANK = 0;

const CHARACTERS: ReadonlyMap<number, string> = new Map(
  Object.entries(NUMBERS).flatMap(([characters, numbers]) =>
    [...characters].map((character, i) => [numbers[i] as number, character] as const),
  ),
);

/** Pixels in the image: smaller letters are guesses. */
const LEAST_HEIGHT = 11;
/** Width by height: one line of letters. */
const SHAPE = { least: 2, most: 8 };
const LEAST_MEAN = 0.92;
const LEAST_LETTER = 0.7;
/** Letters and digits, as on the plates of most countries. Without a letter it is a fleet or telephone number. */
const PLATE = /^(?=.*[A-Z])(?=(?:.*\d){2})[A-Z0-9]{4,10}$/;

export const isPlateShaped = ({ width, height }: Pick<TextRegion, "width" | "height">): boolean =>
  height >= LEAST_HEIGHT && width / height >= SHAPE.least && width / height <= SHAPE.most;

/**
 * `lines` are readings of the same region with different crops and scales. All must agree with high probability: a missed
 * plate costs little, a wrong one much.
 */
export function acceptPlate(lines: readonly (Line | null)[]): Plate | null {
  const [first] = lines;
  if (first === undefined || first === null || !PLATE.test(first.text)) return null;
  const isSure = (line: Line | null): line is Line =>
    line !== null && line.text === first.text && line.mean >= LEAST_MEAN && line.least >= LEAST_LETTER;
  if (!lines.every(isSure)) return null;
  const mean = lines.reduce((sum, line) => sum + (line?.mean ?? 0), 0) / lines.length;
  return { text: first.text, confidence: Math.round(mean * 1000) / 10 };
}
