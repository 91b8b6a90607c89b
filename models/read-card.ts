/** From a card's file to a card with every default filled in, or to faults that say where and what was expected. */
import { readFileSync, statSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import { CST, type Document, LineCounter, Parser, parseDocument } from "yaml";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { ModelCard } from "./card.ts";
import { type CardError, describeErrors } from "./card-errors.ts";
import { judgeCard } from "./card-sense.ts";
import { CardFault } from "./fault.ts";
import { locateError } from "./locate-error.ts";

/** A thousand labels are 20 kB. */
const MOST_BYTES = 1_000_000;
/** A card nests four levels. The YAML library composes by recursion, and must not run out of stack. */
const MOST_LEVELS = 32;

const MOST_ALIASES = 100;
/** YAML can write .nan and .inf, which are no numbers to reckon with. */
const AJV = { allErrors: true, verbose: true, useDefaults: true, strictNumbers: true } as const;

/** Compiled when the first card is read. Draft 7, because that is how TypeBox writes tuples. */
let check: ValidateFunction<ModelCard> | undefined;

/** Throws `CardFault`. */
export function readCard(file: string): ModelCard {
  return parseCard(readText(file), file);
}

export function readText(file: string): string {
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > MOST_BYTES)
      throw new CardFault(`${file}: ${size} bytes are too many for a card; is it the model itself?`);
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof CardFault) throw error;
    throw new CardFault(`${file}: the card cannot be read: ${explainReading(error)}`, { cause: error });
  }
  return text;
}

/** `file` only names the text in faults. Throws `CardFault` with all of them. */
export function parseCard(text: string, file: string): ModelCard {
  const lines = new LineCounter();
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(1, line)}:${Math.max(1, col)}`;
  };
  const document = compose(text, file, lines, place);
  const value = readValue(document, place);
  const tell = (errors: readonly CardError[]): CardFault => {
    const located = errors.map((error) => ({ error, offset: locateError(document, error) }));
    located.sort((a, b) => a.offset - b.offset);
    return new CardFault(located.map(({ error, offset }) => `${place(offset)}: ${error.message}`).join("\n"));
  };
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new CardFault(`${place(0)}: this is no card; expected a map that begins with \`model: NAME\``);
  check ??= new Ajv({ ...AJV, ...OWN_SCHEMAS, logger: false }).compile(ModelCard);
  if (!check(value)) throw tell(describeErrors(check.errors ?? []));
  const senseless = judgeCard(value);
  if (senseless.length > 0) throw tell(senseless);
  return value;
}

function compose(text: string, file: string, lines: LineCounter, place: (offset: number) => string): Document {
  if (measureDepth(text) > MOST_LEVELS) throw new CardFault(`${file}: nests too deeply for a card`);
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw new CardFault(`${place(error.pos[0])}: YAML: ${error.message}`);
  return document;
}

/** Aliases are followed only here, and those that lead nowhere or to too much are thrown. */
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
  if (code === "ENOENT") return "there is no such file";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES") return "no permission";
  return message;
}
