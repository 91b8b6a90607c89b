/** A golden file as text: lines of JSON with sorted keys, the header first, so that version control shows what changed. */
import { validate } from "../../graphs/compiler/schema-check.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { CommandFailure } from "../command.ts";
import { type Golden, GoldenHeader, type Said } from "./golden.ts";

export function formatGolden({ header, said }: Golden): string {
  const lines = [formatLine(header as unknown as Json), ...said.map(formatSaid)];
  return lines.map((line) => `${line}\n`).join("");
}

export const formatSaid = ({ node, channel, message }: Said): string => formatLine({ node, channel, message });

const formatLine = (line: Json): string => JSON.stringify(sortKeys(line));

function sortKeys(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const entries = Object.entries(value).map(([key, inner]) => [key, sortKeys(inner as Json)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Throws `CommandFailure` with the line that is wrong. */
export function parseGolden(text: string, file: string): Golden {
  const [first = "", ...rest] = text.trimEnd().split("\n");
  return { header: readHeader(first, file), said: rest.map((line, index) => readSaid(line, file, index + 2)) };
}

function readHeader(line: string, file: string): Golden["header"] {
  const header = readLine(line, file, 1);
  const [error] = validate(GoldenHeader, header);
  if (error === undefined) return header as unknown as Golden["header"];
  const where = error.path.length === 0 ? "the header" : error.path.join(".");
  throw new CommandFailure(`${file}:1: ${where} is ${error.found}; expected ${error.expected}${AGAIN}`);
}

const AGAIN = "\n  `windhover golden record` writes such files";

function readSaid(line: string, file: string, number: number): Said {
  const { node, channel, message, ...others } = readLine(line, file, number);
  const isMessage = typeof message === "object" && message !== null && !Array.isArray(message);
  if (typeof node === "string" && typeof channel === "string" && isMessage && Object.keys(others).length === 0)
    return { node, channel, message: message as JsonRecord };
  throw new CommandFailure(`${file}:${number}: expected a message: {"channel": …, "message": {…}, "node": …}${AGAIN}`);
}

function readLine(line: string, file: string, number: number): JsonRecord {
  try {
    const value = JSON.parse(line) as Json;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonRecord;
  } catch {
    // said below
  }
  throw new CommandFailure(`${file}:${number}: this is no JSON object; expected a golden file${AGAIN}`);
}
