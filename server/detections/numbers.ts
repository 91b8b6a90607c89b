/**
 * Integers as text, small ones in one letter: base64 VLQ, as in source maps. A digit has 5 bits, the lowest first, and a
 * sixth that says that another digit follows; the lowest bit of the number is its sign.
 */

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));
const BASE = 32;

/** Larger ones would not be exact. */
export const MAX_NUMBER = 2 ** 51;

export function writeNumber(value: number): string {
  let rest = Math.abs(value) * 2 + (value < 0 ? 1 : 0);
  let text = "";
  for (; rest >= BASE; rest = Math.floor(rest / BASE)) text += DIGITS[BASE + (rest % BASE)];
  return text + DIGITS[rest];
}

/** Null: it is not such a text. */
export function readNumbers(text: string): readonly number[] | null {
  const numbers: number[] = [];
  let [value, weight] = [0, 1];
  for (const letter of text) {
    const digit = VALUES.get(letter);
    if (digit === undefined || weight > 2 ** 50) return null;
    value += (digit % BASE) * weight;
    weight *= BASE;
    if (digit >= BASE) continue;
    const size = Math.floor(value / 2);
    numbers.push(value % 2 === 0 || size === 0 ? size : -size);
    [value, weight] = [0, 1];
  }
  return weight === 1 ? numbers : null;
}
