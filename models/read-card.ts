/** Reads a card and fills in its defaults, or reports all its faults with their positions. */
import { readFileSync, statSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import { CST, type Document, LineCounter, Parser, parseDocument } from "yaml";
import type { JsonRecord } from "../schemas/json.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { fillDefaults, fits } from "../schemas/plain-schema.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { ModelCard } from "./card.ts";
import { type CardError, describeErrors, locateError } from "./card-errors.ts";
import { CardFault } from "./fault.ts";
import { COCO } from "./labels.ts";

/** A thousand labels take 20 kB. */
const MOST_BYTES = 1_000_000;
/** A card has four levels. The YAML library composes by recursion and must not exhaust the stack. */
const MOST_LEVELS = 32;

const MOST_ALIASES = 100;
/** `strictNumbers` rejects .nan and .inf, which YAML allows. Draft 7, because TypeBox writes tuples that way. */
const AJV = { ...OWN_SCHEMAS, useDefaults: true, strictNumbers: true, logger: false } as const;

/** Compiled for the first card, and for the first with faults: describing faults doubles the time to compile. */
let check: ValidateFunction<ModelCard> | undefined;
let findFaults: ValidateFunction<ModelCard> | undefined;

/** Throws `CardFault`. */
export function readCard(file: string): ModelCard {
  return parseCard(readText(file), file);
}

export function readText(file: string): string {
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > MOST_BYTES)
      throw new CardFault(
        `${file}: ${size} bytes, expected at most ${MOST_BYTES} for a card; is this the model itself?`,
      );
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof CardFault) throw error;
    throw new CardFault(`${file}: the card cannot be read: ${explainReading(error)}`, { cause: error });
  }
  return text;
}

/** `file` only appears in faults. Throws one `CardFault` with all faults. */
export function parseCard(text: string, file: string): ModelCard {
  const lines = new LineCounter();
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(1, line)}:${Math.max(1, col)}`;
  };
  const document = compose(text, file, lines, place);
  const value = readValue(document, place);
  const locate = (errors: readonly CardError[]): CardFault => {
    const located = errors.map((error) => ({ error, offset: locateError(document, error) }));
    located.sort((a, b) => a.offset - b.offset);
    return new CardFault(located.map(({ error, offset }) => `${place(offset)}: ${error.message}`).join("\n"));
  };
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new CardFault(`${place(0)}: this is not a card; expected a map that begins with \`model: NAME\``);
  const filled = fillDefaults(ModelCard, value as JsonRecord);
  const card = fits(SCHEMA, filled) ? (filled as unknown as ModelCard) : checkByAjv(value, locate);
  const errors = CHECKS.flatMap((checkCard) => checkCard(card));
  if (errors.length > 0) throw locate(errors);
  return card;
}

const SCHEMA = ModelCard as unknown as JsonRecord;

/** Compiling the schema takes longer than anything else when a model is opened. */
function checkByAjv(value: object, locate: (errors: readonly CardError[]) => CardFault): ModelCard {
  check ??= new Ajv(AJV).compile(ModelCard);
  if (check(value)) return value;
  findFaults ??= new Ajv({ ...AJV, allErrors: true, verbose: true }).compile(ModelCard);
  // May be valid now: the first check has filled in defaults.
  const { errors } = findFaults(value) ? check : findFaults;
  throw locate(describeErrors(errors ?? []));
}

function compose(text: string, file: string, lines: LineCounter, place: (offset: number) => string): Document {
  if (measureDepth(text) > MOST_LEVELS)
    throw new CardFault(`${file}: nested deeper than the ${MOST_LEVELS} levels that a card may have`);
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw new CardFault(`${place(error.pos[0])}: YAML: ${error.message}`);
  return document;
}

/** Resolves aliases; throws for undefined ones and for too many. */
function readValue(document: Document, place: (offset: number) => string): unknown {
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `YAML: ${reason} (expected a card without aliases, or with few: write the values out)`;
    throw new CardFault(`${place(0)}: ${message}`, { cause: error });
  }
}

function measureDepth(text: string): number {
  let deepest = 0;
  for (const token of new Parser().parse(text)) {
    const waiting: { token: CST.Token; depth: number }[] = [{ token, depth: 1 }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { token, depth } = next;
      deepest = Math.max(deepest, depth);
      if (token.type === "document" && token.value) waiting.push({ token: token.value, depth });
      if (!CST.isCollection(token)) continue;
      for (const { key, value } of token.items)
        for (const inner of [key, value]) if (inner) waiting.push({ token: inner, depth: depth + 1 });
    }
  }
  return deepest;
}

function explainReading(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES") return "no permission";
  return message;
}

/** Rules that the schema cannot express: parts of a card that contradict each other. */
const CHECKS = [checkThresholds, checkInput, checkSources, checkLabels, checkConversion];

function checkThresholds({ thresholds: { weak, confidence } }: ModelCard): readonly CardError[] {
  if (weak <= confidence) return [];
  const message = `thresholds.weak is ${weak}, above thresholds.confidence, which is ${confidence} (expected it to be lower: weak detections only help the tracker)`;
  return [{ path: ["thresholds", "weak"], message }];
}

function checkInput({ input }: ModelCard): readonly CardError[] {
  if (input.type === "float32") return [];
  return (["mean", "std"] as const)
    .filter((key) => input[key] !== undefined)
    .map((key) => ({
      path: ["input", key],
      atKey: true,
      message: `input.${key} does not apply to uint8, which passes pixels unchanged (expected type: float32, or no ${key})`,
    }));
}

function checkSources({ sources }: ModelCard): readonly CardError[] {
  return sources.flatMap((source, i) => {
    if ("member" in source && source.member.split("/").includes(".."))
      return [
        {
          path: ["sources", `${i}`, "member"],
          message: `sources[${i}].member is outside of the package (expected a path without ..)`,
        },
      ];
    if ("url" in source && !URL.canParse(source.url))
      return [{ path: ["sources", `${i}`, "url"], message: `sources[${i}].url is not a valid URL` }];
    return [];
  });
}

function checkLabels({ labels, convert }: ModelCard): readonly CardError[] {
  const all = labels === "coco" ? COCO : labels;
  const twice = all.flatMap((label, i) => {
    const first = all.indexOf(label);
    return first === i
      ? []
      : [
          {
            path: ["labels", `${i}`],
            message: `"${label}" is in the labels twice, as number ${first} and ${i} (expected each label once)`,
          },
        ];
  });
  const unknown = (convert?.classes ?? []).flatMap((name, i) => {
    if (all.includes(name)) return [];
    const message = `"${name}" is not one of the ${all.length} labels${didYouMean(name, all)}`;
    return [{ path: ["convert", "classes", `${i}`], message }];
  });
  return [...twice, ...unknown];
}

/** The input of every converted EfficientDet. */
const CONVERTED = { type: "uint8", layout: "nhwc", colours: "rgb", fit: "letterbox", anchor: "top-left" } as const;

function checkConversion({ convert, input, decoder }: ModelCard): readonly CardError[] {
  if (convert === undefined) return [];
  const errors: CardError[] = Object.entries(CONVERTED)
    .filter(([key, value]) => input[key as keyof typeof CONVERTED] !== value)
    .map(([key, value]) => ({
      path: ["input", key],
      message: `input.${key} is ${input[key as keyof typeof CONVERTED]} (expected ${value}, the result of \`convert\`)`,
    }));
  if (decoder.family !== "efficientdet")
    errors.push({
      path: ["decoder", "family"],
      message: `decoder.family is ${decoder.family} (expected efficientdet, the result of \`convert\`)`,
    });
  return errors;
}
