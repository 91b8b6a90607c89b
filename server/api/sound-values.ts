/** What JSON can say and a database cannot keep, and how much of it a body may hold. */
import type { InputFault } from "../service-error.ts";

const MOST_DEPTH = 64;
/** Numbers, texts, lists and objects of one body. */
export const MOST_VALUES = 20_000;
export const TOO_MANY_VALUES = `has more than ${MOST_VALUES} values`;
const MOST_FAULTS = 100;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Faults of texts, numbers, depth and size anywhere in a value, up to a hundred. */
export function findUnsound(value: unknown): readonly InputFault[] {
  const search = new Search();
  search.visit(value, 0);
  return search.faults;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];

/** Whether it is seen to have too many values without parsing it, which takes many times as long. */
export function hasTooManyValues(json: Uint8Array): boolean {
  let commas = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfText(json, at);
    else if (byte === COMMA && ++commas === MOST_VALUES) return true;
  }
  return false;
}

/** Where the closing quotation mark is. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

class Search {
  readonly faults: InputFault[] = [];
  readonly #path: (string | number)[] = [];
  #left = MOST_VALUES;

  visit(value: unknown, depth: number): void {
    this.#left -= 1;
    if (this.#left === 0) this.faults.splice(0, MOST_FAULTS, { path: "", message: TOO_MANY_VALUES });
    if (this.#isOver) return;
    const message = judgeValue(value, depth);
    if (message !== null) this.#report(message);
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) this.#enter(index, item, depth);
    else if (typeof value === "object")
      for (const key in value) this.#visitField(key, (value as Record<string, unknown>)[key], depth);
  }

  #visitField(key: string, item: unknown, depth: number): void {
    const message = judgeText(key);
    if (message !== null) this.#report(`has a key that ${message}`);
    else this.#enter(key, item, depth);
  }

  #enter(key: string | number, item: unknown, depth: number): void {
    if (this.#isOver) return;
    this.#path.push(key);
    this.visit(item, depth + 1);
    this.#path.pop();
  }

  get #isOver(): boolean {
    return this.#left <= 0 || this.faults.length >= MOST_FAULTS;
  }

  #report(message: string): void {
    const path = this.#path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
    this.faults.push({ path, message });
  }
}

function judgeValue(value: unknown, depth: number): string | null {
  if (typeof value === "string") return judgeText(value);
  if (typeof value === "number") return Number.isFinite(value) ? null : "is too large a number";
  const isNested = typeof value === "object" && value !== null;
  return isNested && depth === MOST_DEPTH ? `is nested more than ${MOST_DEPTH} deep` : null;
}

/** Null when it can be kept. */
export function judgeText(text: string): string | null {
  if (text.includes("\0")) return "has a NUL character in it";
  return LONE_SURROGATE.test(text) ? "has half of a surrogate pair in it" : null;
}
