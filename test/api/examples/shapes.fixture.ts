/** Shapes of JSON values: which keys they have, and where. Pure. */

/** Of a list of records, and of one of texts or numbers. */
const [MOST_RECORDS, MOST_VALUES] = [1, 4];
const MOST_LINES = 12;
const MOST_CHARACTERS = 200;

/** The same shape with less text: the first entries of lists, the first lines of texts. */
export function shorten(value: unknown): unknown {
  if (typeof value === "string") return shortenText(value);
  if (Array.isArray(value)) {
    const isRecords = value.some((item) => typeof item === "object" && item !== null && !Array.isArray(item));
    return value.slice(0, isRecords ? MOST_RECORDS : MOST_VALUES).map(shorten);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shorten(item)]));
}

function shortenText(text: string): string {
  const lines = text.split("\n");
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    return line.length <= MOST_CHARACTERS || line.includes(" ") ? line : `${line.slice(0, 40)}…`;
  });
  return lines.length > MOST_LINES ? [...shown, "…"].join("\n") : shown.join("\n");
}

/** Fields whose keys are names that graphs choose. */
const MAPS = ["params", "properties", "slots"];

/** Differences of keys. Null stands for any value, an empty list for any list; texts and numbers may differ. */
export function compareShapes(known: unknown, found: unknown, where = ""): readonly string[] {
  if (known === null || found === null) return [];
  if (kindOf(known) !== kindOf(found)) return [`${where || "/"} is ${kindOf(found)}, recorded ${kindOf(known)}`];
  if (Array.isArray(known) && Array.isArray(found))
    return known.length === 0 || found.length === 0 ? [] : compareShapes(known[0], found[0], `${where}/0`);
  if (typeof known !== "object" || typeof found !== "object") return [];
  const [old, now] = [known as Record<string, unknown>, found as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return keys.flatMap((key) => {
    const at = `${where}/${key}`;
    if (!(key in now)) return [`${at} is missing`];
    if (MAPS.includes(key)) return [];
    return key in old ? compareShapes(old[key], now[key], at) : [`${at} is new`];
  });
}

const kindOf = (value: unknown): string => (Array.isArray(value) ? "list" : typeof value);
