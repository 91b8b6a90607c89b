/** One line of text, from what the network says of each of its columns. Pure. */
import { BLANK, isSeparator, readCharacter } from "./characters.ts";

export interface Line {
  readonly text: string;
  /** Of the least sure character, from 0 to 1. */
  readonly least: number;
  readonly mean: number;
}

/** Null when anything is read that stands on no plate. `classes` probabilities for each column (CTC, greedy). */
export function readLine(probabilities: Float32Array, classes: number): Line | null {
  const sure: number[] = [];
  let text = "";
  let before = BLANK;
  for (let from = 0; from < probabilities.length; from += classes) {
    const column = probabilities.subarray(from, from + classes);
    const best = findLargest(column);
    const probability = column[best] as number;
    if (best !== BLANK && best === before) sure.push(Math.max(sure.pop() ?? 0, probability));
    else if (best !== BLANK) {
      const character = readCharacter(best);
      if (character === null) return null;
      text += character;
      sure.push(probability);
    }
    before = best;
  }
  const kept = [...text].flatMap((character, i) => (isSeparator(character) ? [] : [{ character, sure: sure[i] ?? 0 }]));
  if (kept.length === 0) return null;
  const mean = kept.reduce((sum, one) => sum + one.sure, 0) / kept.length;
  const least = Math.min(...kept.map((one) => one.sure));
  return { text: kept.map(({ character }) => character).join(""), least, mean };
}

function findLargest(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}
