/** What JSON can say and a database cannot keep. */
import type { InputFault } from "../service-error.ts";

const MOST_DEPTH = 64;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Faults of texts, numbers and depth anywhere in a value. */
export function findUnsound(value: unknown, path = "", depth = 0): readonly InputFault[] {
  if (typeof value === "string") {
    const message = judgeText(value);
    return message === null ? [] : [{ path, message }];
  }
  if (typeof value === "number") return Number.isFinite(value) ? [] : [{ path, message: "is too large a number" }];
  if (typeof value !== "object" || value === null) return [];
  if (depth === MOST_DEPTH) return [{ path, message: `is nested more than ${MOST_DEPTH} deep` }];
  const faults: InputFault[] = [];
  for (const [key, item] of Object.entries(value)) {
    const message = Array.isArray(value) ? null : judgeText(key);
    if (message !== null) faults.push({ path, message: `has a key that ${message}` });
    else faults.push(...findUnsound(item, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1));
  }
  return faults;
}

/** Null when it can be kept. */
export function judgeText(text: string): string | null {
  if (text.includes("\0")) return "has a NUL character in it";
  return LONE_SURROGATE.test(text) ? "has half of a surrogate pair in it" : null;
}
