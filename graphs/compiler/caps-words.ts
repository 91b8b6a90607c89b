/** Caps in messages: what two sides say, where they differ, and what would turn one into the other. */
import { type Caps, type CapsStructure, type CapsValue, intersectValues, isRaw } from "./caps.ts";
import { listChoices } from "./describe.ts";

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

/** In the notation of caps, so that it can be compared with what the author wrote. */
function describeStructure({ mediaType, features, fields }: CapsStructure, shown: readonly string[]): string {
  const memory = features === "memory:SystemMemory" || features === "ANY" ? "" : `(${features})`;
  const stated = shown.flatMap((name) => {
    const value = fields.get(name);
    return value === undefined ? [] : [`,${name}=${describeValue(value)}`];
  });
  return `${mediaType}${memory}${stated.join("")}`;
}

function describeValue(value: CapsValue): string {
  if (value.kind === "open") return "…";
  if (value.kind === "range") return `[${value.minimum},${value.maximum}]`;
  const { choices } = value;
  if (choices.length === 1) return choices[0] ?? "";
  return `{${choices.length > MAX_SHOWN ? [...choices.slice(0, MAX_SHOWN), "…"].join(",") : choices.join(",")}}`;
}

export interface Difference {
  readonly gives: string;
  readonly takes: string;
  /** What to put between them. */
  readonly advice: string;
}

/** Of two sides that can never agree. */
export function describeDifference(gives: Caps, takes: Caps): Difference {
  const fields = findFields(gives, takes);
  const ofSameType = (caps: Caps, other: Caps): Caps =>
    fields.length === 0 || typeof caps === "string" || typeof other === "string"
      ? caps
      : caps.filter((structure) => other.some(({ mediaType }) => mediaType === structure.mediaType));
  return {
    gives: describeCaps(ofSameType(gives, takes), fields),
    takes: describeCaps(ofSameType(takes, gives), fields),
    advice: adviseOn(gives, takes, fields),
  };
}

/** The fields in which the two structures that come nearest to each other differ. */
function findFields(gives: Caps, takes: Caps): readonly string[] {
  if (typeof gives === "string" || typeof takes === "string") return [];
  const differing = gives.flatMap((left) =>
    takes
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

function adviseOn(gives: Caps, takes: Caps, fields: readonly string[]): string {
  const converters = CONVERTERS.filter(([names]) => fields.some((field) => names.includes(field)));
  const isCovered = fields.every((field) => CONVERTERS.some(([names]) => names.includes(field)));
  const isVideo = takes !== "any" && takes !== "encoded" && takes.every(({ mediaType }) => mediaType === "video/x-raw");
  if (isVideo && fields.length > 0 && isCovered)
    return `${converters.map(([, converter]) => converter).join(", and ")} before it`;
  if (isVideo && (gives === "encoded" || (gives !== "any" && gives.length > 0 && !gives.some(isRaw))))
    return "`decode` before it";
  const codecs = typeof takes === "string" ? [] : takes.map(({ mediaType }) => mediaType);
  const encodable = codecs.filter((codec) => codec === "video/x-h264" || codec === "video/x-h265");
  const givesVideo = typeof gives !== "string" && gives.some(({ mediaType }) => mediaType === "video/x-raw");
  if (givesVideo && encodable.length > 0 && fields.length === 0) {
    const choices = [...new Set(encodable)].map((codec) => `\`encode: { codec: ${codec.slice("video/x-".length)} }\``);
    return `${listChoices(choices)} before it`;
  }
  return "an element between them that turns one into the other";
}
