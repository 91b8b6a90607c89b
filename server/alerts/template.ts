/**
 * Templates of notifications: a text with `{{ name }}` for values of the notice, and nothing else: no loops, no
 * conditions, no code. Our own, because what a library would be used for is the smallest part: names are checked, with
 * suggestions, when the alert is created; values are escaped by where they stand in JSON; and the size is bounded.
 */
import { AlertNotice } from "../../schemas/api/events.ts";
import { TrackEntry } from "../../schemas/detection-message.ts";
import { didYouMean } from "../../schemas/suggest.ts";

export type TemplateFormat = "json" | "text";

interface Placeholder {
  readonly name: string;
  readonly fallback: string | undefined;
  /** Within a string of JSON. */
  readonly isQuoted: boolean;
}

/** Literal texts and placeholders, in order. */
export interface Template {
  readonly format: TemplateFormat;
  readonly parts: readonly (string | Placeholder)[];
}

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;
const EXPRESSION = /^ *([A-Za-z0-9_.-]+) *(?:\| *default: *"([^"]*)" *)?$/;
const MOST_PLACEHOLDERS = 100;
const MOST_SEGMENTS = 8;
/** Of a rendered text, so that it fits into a delivery in any encoding. */
const MOST_CHARACTERS = 300_000;

const ALERT_FIELDS: Readonly<Record<string, string>> = { alias: "alias", uuid: "alert_uuid", type: "type" };
/** Of all notices, and of those with evidence. */
const NAMES: readonly string[] = [
  ...new Set([...Object.keys(AlertNotice.properties), "snapshot_url", "clip_url"]),
  ...Object.keys(ALERT_FIELDS).map((field) => `alert.${field}`),
  "tracks.length",
];

/** Or what is wrong with it, as a text that names line and column. */
export function parseTemplate(text: string, format: TemplateFormat): Template | string {
  const parts: (string | Placeholder)[] = [];
  let end = 0;
  let isQuoted = false;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const literal = text.slice(end, match.index);
    if (format === "json") isQuoted = endsInString(literal, isQuoted);
    const placeholder = readExpression(match[1] ?? "", isQuoted);
    if (typeof placeholder === "string") return `${locate(text, match.index)}: ${placeholder}`;
    parts.push(literal, placeholder);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  const [first] = parts.filter((part): part is string => typeof part === "string" && part.includes("{{"));
  if (first !== undefined)
    return `${locate(text, text.indexOf(first) + first.indexOf("{{"))}: "{{" has no matching "}}"; expected {{ name }}`;
  if (parts.length > 2 * MOST_PLACEHOLDERS) return `has more than ${MOST_PLACEHOLDERS} placeholders`;
  const template: Template = { format, parts };
  return (format === "json" ? checkJson(template) : null) ?? template;
}

function readExpression(written: string, isQuoted: boolean): Placeholder | string {
  const [, name, fallback] = EXPRESSION.exec(written) ?? [];
  if (name === undefined)
    return `"{{${written.slice(0, 60)}}}" cannot be read; expected {{ name }} or {{ name | default: "text" }}`;
  if (isKnown(name)) return { name, fallback, isQuoted };
  const [, index] = /^tracks\.(\d{1,3})\./.exec(name) ?? [];
  const fields = Object.keys(TrackEntry.properties).map((field) => `tracks.${index ?? 0}.${field}`);
  return `"${name.slice(0, 60)}" is not a value of notifications${didYouMean(name, [...NAMES, ...fields])}`;
}

/** `data` differs by type of alert, and by event: names in it are not checked. */
function isKnown(name: string): boolean {
  const [root, ...rest] = name.split(".");
  if (rest.length >= MOST_SEGMENTS || rest.includes("")) return false;
  if (root === "data" || NAMES.includes(name)) return true;
  const [index = "", field, corner, ...more] = rest;
  if (root !== "tracks" || !/^\d{1,3}$/.test(index) || more.length > 0) return false;
  if (field === undefined) return true;
  if (!Object.hasOwn(TrackEntry.properties, field)) return false;
  // Names of `values` are those of the graph, and are not checked.
  if (corner === undefined || field === "values") return true;
  return (field === "bbox" || field === "scaled_bbox") && /^[0-3]$/.test(corner);
}

function endsInString(literal: string, isQuoted: boolean): boolean {
  let isInside = isQuoted;
  for (let at = 0; at < literal.length; at++) {
    if (isInside && literal[at] === "\\") at += 1;
    else if (literal[at] === '"') isInside = !isInside;
  }
  return isInside;
}

/** Any values give JSON if these do: `x` after a backslash is no escape, and `null` is not the name of a member. */
function checkJson({ parts }: Template): string | null {
  const sample = parts.map((part) => (typeof part === "string" ? part : part.isQuoted ? "x" : "null")).join("");
  try {
    JSON.parse(sample);
    return null;
  } catch (error) {
    return `is not valid JSON: ${(error as Error).message}; for other texts set content_type to text/plain`;
  }
}

function locate(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

/** Values that would make the text too long are left out. */
export function renderTemplate({ format, parts }: Template, notice: AlertNotice): string {
  let text = "";
  for (const part of parts) {
    const piece = typeof part === "string" ? part : write(part, format, find(notice, part.name));
    if (text.length + piece.length <= MOST_CHARACTERS) text += piece;
    else if (format === "json" && typeof part !== "string" && !part.isQuoted) text += "null";
  }
  return text;
}

function write({ fallback, isQuoted }: Placeholder, format: TemplateFormat, value: unknown): string {
  const known = value ?? fallback;
  if (format === "json" && !isQuoted) return JSON.stringify(known ?? null);
  const text = typeof known === "object" ? JSON.stringify(known) : String(known ?? "");
  return format === "json" ? JSON.stringify(text).slice(1, -1) : text;
}

/** Reads own properties only: a name can reach nothing but the notice. */
function find(notice: AlertNotice, name: string): unknown {
  const [root = "", ...rest] = name.split(".");
  const path = root === "alert" ? [ALERT_FIELDS[rest[0] ?? ""] ?? ""] : [root, ...rest];
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Readonly<Record<string, unknown>>)[key]
        : undefined,
    notice,
  );
}
