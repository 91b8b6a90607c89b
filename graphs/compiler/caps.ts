import { listChoices } from "./describe.ts";

/**
 * Caps: parsed, intersected and described, as far as needed to find links that can never negotiate. Notation that is not
 * understood counts as compatible; GStreamer's negotiation decides.
 */
export type CapsValue =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | Range
  | { readonly kind: "open" };

interface Range {
  readonly kind: "range";
  readonly minimum: number;
  readonly maximum: number;
}

export interface CapsStructure {
  readonly mediaType: string;
  /** Sorted, joined with a comma; `memory:SystemMemory` by default; `ANY` matches all. */
  readonly features: string;
  readonly fields: ReadonlyMap<string, CapsValue>;
}

/** `encoded`: any format but raw video and audio; often all that is known of a source before it runs. */
export type Caps = "any" | "encoded" | readonly CapsStructure[];

const MAX_STRUCTURES = 128;
const MEDIA_TYPE = /^[A-Za-z][\w+.-]*\/[\w+.-]+$/;

/** Pads repeat the same few caps. */
const parsed = new Map<string, Caps | null>();
const MAX_PARSED = 2_000;

/** Null when the text is not caps. */
export function parseCaps(text: string): Caps | null {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const caps = parseText(text);
  if (parsed.size >= MAX_PARSED) parsed.clear();
  parsed.set(text, caps);
  return caps;
}

function parseText(text: string): Caps | null {
  const trimmed = text.trim();
  if (trimmed === "ANY") return "any";
  if (trimmed === "EMPTY" || trimmed === "NONE") return [];
  const parts = splitOutside(trimmed, ";").filter((part) => part.trim() !== "");
  if (parts.length > MAX_STRUCTURES) return "any";
  const structures = parts.map(parseStructure);
  if (structures.length === 0) return null;
  return structures.every((structure) => structure !== null) ? structures : null;
}

function parseStructure(text: string): CapsStructure | null {
  const [head = "", ...rest] = splitOutside(text.trim(), ",");
  const match = /^([^(\s]+)\s*(?:\(([^)]*)\))?$/.exec(head.trim());
  const mediaType = match?.[1];
  if (mediaType === undefined || !MEDIA_TYPE.test(mediaType)) return null;
  const fields = new Map<string, CapsValue>();
  for (const field of rest) {
    const equals = field.indexOf("=");
    const name = field.slice(0, equals).trim();
    const text = field.slice(equals + 1).trim();
    const value = parseValue(text);
    if (equals < 0 || text === "" || value === null || !/^[A-Za-z][\w:.-]*$/.test(name)) return null;
    fields.set(name, value);
  }
  const features = match?.[2]?.split(",").map((feature) => feature.trim());
  return { mediaType, features: features?.sort().join(",") ?? "memory:SystemMemory", fields };
}

const TYPE_PREFIX = /^\(\s*([\w/:]+)\s*\)\s*/;

/** Null when it is not a value. */
function parseValue(text: string): CapsValue | null {
  const bare = text.trim().replace(TYPE_PREFIX, "");
  if (bare.startsWith("{")) {
    if (!bare.endsWith("}")) return null;
    const items = splitOutside(bare.slice(1, -1), ",").map(parseValue);
    const choices = items.flatMap((item) => (item?.kind === "choices" ? item.choices : []));
    return items.every((item) => item?.kind === "choices") ? { kind: "choices", choices } : { kind: "open" };
  }
  if (bare.startsWith("[")) {
    if (!bare.endsWith("]")) return null;
    const [minimum, maximum] = bare.slice(1, -1).split(",").map(toLimit);
    if (minimum === undefined || maximum === undefined || Number.isNaN(minimum + maximum)) return null;
    return { kind: "range", minimum, maximum };
  }
  if (/^[<(&@]/.test(bare)) return { kind: "open" };
  return { kind: "choices", choices: [bare.replace(/^"(.*)"$/s, "$1").replace(/^'(.*)'$/s, "$1")] };
}

const isNumeral = (text: string): boolean => /^\s*[-+.\d]/.test(text);

const toNumber = (text: string): number => {
  const [numerator, denominator] = text.trim().split("/").map(Number);
  return denominator === undefined ? (numerator ?? Number.NaN) : (numerator ?? Number.NaN) / denominator;
};

const toLimit = (text: string): number => {
  const word = text.trim();
  return word === "min" ? -Infinity : word === "max" ? Infinity : toNumber(word.replace(TYPE_PREFIX, ""));
};

/** Every scalar value of every field, with its type if one is written. */
export function listScalars(text: string): readonly CapsScalar[] {
  return splitOutside(text, ";").flatMap((structure) =>
    splitOutside(structure, ",")
      .slice(1)
      .flatMap((field) => {
        const equals = field.indexOf("=");
        const name = field.slice(0, equals).trim();
        const value = field.slice(equals + 1).trim();
        const type = TYPE_PREFIX.exec(value)?.[1] ?? null;
        const bare = value.replace(TYPE_PREFIX, "");
        const items = /^[{[]/.test(bare) ? splitOutside(bare.slice(1, -1), ",") : [bare];
        return items.map((item) => ({
          name,
          type,
          text: item
            .trim()
            .replace(TYPE_PREFIX, "")
            .replace(/^"(.*)"$/s, "$1"),
        }));
      }),
  );
}

export interface CapsScalar {
  readonly name: string;
  readonly type: string | null;
  readonly text: string;
}

/** Splits at separators outside of quotes and brackets. */
function splitOutside(text: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = "";
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const char = text[index] ?? "";
    if (quote !== "") {
      if (char === "\\") index++;
      else if (char === quote) quote = "";
    } else if (char === '"') quote = char;
    else if ("{[(<".includes(char)) depth++;
    else if ("}])>".includes(char)) depth--;
    else if (char === separator && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...parts, text.slice(start)];
}

/** Empty: the two can never negotiate. */
export function intersectCaps(a: Caps, b: Caps): Caps {
  if (a === "any") return b;
  if (b === "any") return a;
  if (a === "encoded") return b === "encoded" ? b : withoutRaw(b);
  if (b === "encoded") return intersectCaps(b, a);
  const known = intersections.get(a) ?? new WeakMap();
  const common = known.get(b) ?? intersectLists(a, b);
  intersections.set(a, known.set(b, common));
  return common;
}

export type CapsList = Exclude<Caps, string>;

/** The same elements are linked in every graph: their parsed caps, and all that follows from them, are the same objects. */
const intersections = new WeakMap<CapsList, WeakMap<CapsList, Caps>>();

const withoutRaw = rememberCaps((caps) => caps.filter((structure) => !isRaw(structure)));

/** Calls `derive` once for each caps object. */
export function rememberCaps(derive: (caps: CapsList) => CapsList): (caps: CapsList) => CapsList {
  const known = new WeakMap<CapsList, CapsList>();
  return (caps) => {
    const derived = known.get(caps) ?? derive(caps);
    known.set(caps, derived);
    return derived;
  };
}

/** `a` or `b` itself if it is not narrowed: what follows is then known from other branches of the graph. */
function intersectLists(a: CapsList, b: CapsList): Caps {
  const common = a.flatMap((left) => b.flatMap((right) => intersectStructures(left, right) ?? []));
  if (isSame(common, a)) return a;
  if (isSame(common, b)) return b;
  return common.length > MAX_STRUCTURES ? "any" : common;
}

const isSame = (a: CapsList, b: CapsList): boolean =>
  a.length === b.length && a.every((structure, index) => structure === b[index]);

export const canAgree = (a: Caps, b: Caps): boolean => {
  const common = intersectCaps(a, b);
  return typeof common === "string" || common.length > 0;
};

const isRaw = ({ mediaType }: CapsStructure): boolean => mediaType.endsWith("/x-raw");

function intersectStructures(a: CapsStructure, b: CapsStructure): CapsStructure | null {
  if (a.mediaType !== b.mediaType) return null;
  if (a.features !== b.features && a.features !== "ANY" && b.features !== "ANY") return null;
  const fields = new Map(a.fields);
  for (const [name, value] of b.fields) {
    const other = a.fields.get(name);
    const common = other === undefined ? value : intersectValues(other, value);
    if (common === null) return null;
    fields.set(name, common);
  }
  if ((a.features === b.features || b.features === "ANY") && areSame(fields, a.fields)) return a;
  if ((a.features === b.features || a.features === "ANY") && areSame(fields, b.fields)) return b;
  return { mediaType: a.mediaType, features: a.features === "ANY" ? b.features : a.features, fields };
}

const areSame = (a: CapsStructure["fields"], b: CapsStructure["fields"]): boolean =>
  a.size === b.size && [...a].every(([name, value]) => b.get(name) === value);

function intersectValues(a: CapsValue, b: CapsValue): CapsValue | null {
  if (a.kind === "open" || b.kind === "open") return a.kind === "open" ? b : a;
  if (a.kind === "choices" && b.kind === "choices") {
    // `30/1` equals `30`. Sets, not pairwise comparison: converters list sixty formats per pad.
    const words = new Set(b.choices);
    const numbers = new Set(
      b.choices
        .filter(isNumeral)
        .map(toNumber)
        .filter((number) => !Number.isNaN(number)),
    );
    const choices = a.choices.filter(
      (choice) => words.has(choice) || (numbers.size > 0 && isNumeral(choice) && numbers.has(toNumber(choice))),
    );
    if (choices.length === a.choices.length) return a;
    if (choices.length === b.choices.length && choices.every((choice) => words.has(choice))) return b;
    return choices.length === 0 ? null : { kind: "choices", choices };
  }
  if (a.kind === "range" && b.kind === "range") {
    const minimum = Math.max(a.minimum, b.minimum);
    const maximum = Math.min(a.maximum, b.maximum);
    if (minimum === a.minimum && maximum === a.maximum) return a;
    if (minimum === b.minimum && maximum === b.maximum) return b;
    return minimum > maximum ? null : { kind: "range", minimum, maximum };
  }
  const range = a.kind === "range" ? a : (b as Range);
  const listed = a.kind === "choices" ? a : (b as { choices: readonly string[] });
  const choices = listed.choices.filter((choice) => {
    const number = toNumber(choice);
    return Number.isNaN(number) || (number >= range.minimum && number <= range.maximum);
  });
  return choices.length === 0 ? null : { kind: "choices", choices };
}

/** Structures, and values of a field, in a message. */
const MAX_SHOWN = 4;

/** `video/x-raw or image/jpeg`. */
export function describeCaps(caps: Caps, fields: readonly string[] = []): string {
  if (caps === "any") return "anything";
  if (caps === "encoded" || (caps.length > MAX_SHOWN && !caps.some(isRaw))) return "encoded video";
  const names = [...new Set(caps.map((structure) => describeStructure(structure, fields)))];
  if (names.length === 0) return "nothing";
  if (names.length <= MAX_SHOWN) return names.join(" or ");
  return `${names.slice(0, MAX_SHOWN).join(", ")} and ${names.length - MAX_SHOWN} more`;
}

/** In caps notation, for comparison with what the author wrote. */
function describeStructure({ mediaType, features, fields }: CapsStructure, shown: readonly string[]): string {
  const memory = features === "memory:SystemMemory" || features === "ANY" ? "" : `(${features})`;
  const stated = shown.flatMap((name) => {
    const value = fields.get(name);
    return value === undefined ? [] : [`,${name}=${describeCapsValue(value)}`];
  });
  return `${mediaType}${memory}${stated.join("")}`;
}

function describeCapsValue(value: CapsValue): string {
  if (value.kind === "open") return "…";
  if (value.kind === "range") return `[${value.minimum},${value.maximum}]`;
  const { choices } = value;
  if (choices.length === 1) return choices[0] ?? "";
  return `{${choices.length > MAX_SHOWN ? [...choices.slice(0, MAX_SHOWN), "…"].join(",") : choices.join(",")}}`;
}

/** Of caps that can never negotiate: both sides in words, and what to put between them. */
export function describeMismatch(output: Caps, input: Caps) {
  const fields = findFields(output, input);
  const ofSameType = (caps: Caps, other: Caps): Caps =>
    fields.length === 0 || typeof caps === "string" || typeof other === "string"
      ? caps
      : caps.filter((structure) => other.some(({ mediaType }) => mediaType === structure.mediaType));
  return {
    output: describeCaps(ofSameType(output, input), fields),
    input: describeCaps(ofSameType(input, output), fields),
    advice: adviseOn(output, input, fields),
  };
}

/** The fields in which the two most similar structures differ. */
function findFields(output: Caps, input: Caps): readonly string[] {
  if (typeof output === "string" || typeof input === "string") return [];
  const differing = output.flatMap((left) =>
    input
      .filter((right) => left.mediaType === right.mediaType)
      .map((right) =>
        [...right.fields].flatMap(([name, value]) => {
          const other = left.fields.get(name);
          return other !== undefined && intersectValues(other, value) === null ? [name] : [];
        }),
      )
      .filter((names) => names.length > 0),
  );
  return differing.sort((a, b) => a.length - b.length)[0] ?? [];
}

const CONVERTERS: readonly (readonly [readonly string[], string])[] = [
  [["width", "height", "pixel-aspect-ratio"], "`resize` or `videoscale`"],
  [["framerate"], "`videorate`"],
  [["format", "colorimetry", "chroma-site"], "`videoconvert`"],
];

function adviseOn(output: Caps, input: Caps, fields: readonly string[]): string {
  const converters = CONVERTERS.filter(([names]) => fields.some((field) => names.includes(field)));
  const isCovered = fields.every((field) => CONVERTERS.some(([names]) => names.includes(field)));
  const isVideo = input !== "any" && input !== "encoded" && input.every(({ mediaType }) => mediaType === "video/x-raw");
  if (isVideo && fields.length > 0 && isCovered)
    return `${converters.map(([, converter]) => converter).join(", and ")} before it`;
  if (isVideo && (output === "encoded" || (output !== "any" && output.length > 0 && !output.some(isRaw))))
    return "`decode` before it";
  const codecs = typeof input === "string" ? [] : input.map(({ mediaType }) => mediaType);
  const encodable = codecs.filter((codec) => codec === "video/x-h264" || codec === "video/x-h265");
  const isRawVideo = typeof output !== "string" && output.some(({ mediaType }) => mediaType === "video/x-raw");
  if (isRawVideo && encodable.length > 0 && fields.length === 0) {
    const choices = [...new Set(encodable)].map((codec) => `\`encode: { codec: ${codec.slice("video/x-".length)} }\``);
    return `${listChoices(choices)} before it`;
  }
  return "an element between them that converts one into the other";
}
