/**
 * Characters of the network that reads: it knows 6,624, and each has a number. Those of plates are listed with theirs
 * (of PP-OCR's dictionary for Chinese and English); whatever else it reads is something else.
 */
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  "0123456789": [26, 93, 25, 94, 632, 631, 933, 29, 27, 1109],
  ABCDEFGHIJKLMNOPQRSTUVWXYZ: [
    ...[1221, 3588, 4244, 1220, 4381, 1219, 5128, 425, 3587, 2697, 5193, 3506, 3639],
    ...[3589, 4741, 1310, 4731, 5127, 1217, 1381, 4497, 5405, 5033, 5200, 1218, 4136],
  ],
  /** Between the groups of a plate: a space, dashes, dots. They are left out. */
  " -.·•:": [6624, 28, 466, 5529, 5545, 32],
};

/** Of the class that stands for nothing: between characters, and where there is none. */
export const BLANK = 0;

const byNumber = new Map(
  Object.entries(NUMBERS).flatMap(([characters, numbers]) =>
    [...characters].map((character, i) => [numbers[i] as number, character] as const),
  ),
);

/** Null: none that stands on plates. */
export function readCharacter(number: number): string | null {
  return byNumber.get(number) ?? null;
}

export const isSeparator = (character: string): boolean => !/[A-Z0-9]/.test(character);
