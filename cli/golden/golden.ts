/** A golden file: its header, the messages of the graph, and their text on disk. */

import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { type Static, Type } from "typebox";
import { validate } from "../../graphs/compiler/schema-check.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { CommandFailure } from "../command.ts";

const CLOSED = { additionalProperties: false } as const;
const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$", description: "64 hexadecimal digits." });

export const RecordedModel = Type.Object(
  {
    /** The step that runs it. */
    node: Type.String(),
    name: Type.String(),
    /** Digest of the weights, from the card. */
    sha256: Sha256,
    /** Digest of the ONNX file that runs, which depends on the kind of machine. */
    network: Sha256,
    /** Thresholds for detections, and for weak detections that continue a track; from 0 to 1. */
    confidence: Type.Number(),
    weak: Type.Number(),
  },
  CLOSED,
);
export type RecordedModel = Static<typeof RecordedModel>;

/** Without times and absolute paths: it does not depend on where it was recorded. */
export const GoldenHeader = Type.Object(
  {
    golden: Type.Literal(2, { description: "Version of the format." }),
    windhover: Type.String(),
    /** Kind of processor: another one may round differently. */
    machine: Type.String(),
    graph: Type.String(),
    params: Type.Record(Type.String(), Type.Unknown()),
    frames: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
      description: "Number of frames; null for the whole clip.",
    }),
    clip: Type.Object({ name: Type.String(), sha256: Sha256 }, CLOSED),
    models: Type.Array(RecordedModel),
  },
  CLOSED,
);
export type GoldenHeader = Omit<Static<typeof GoldenHeader>, "params"> & { readonly params: JsonRecord };

/** A message with the node that sent it and its channel. */
export interface Said {
  readonly node: string;
  readonly channel: string;
  readonly message: JsonRecord;
}

export interface Golden {
  readonly header: GoldenHeader;
  /** Grouped by node: the order between nodes on several threads varies. */
  readonly said: readonly Said[];
}

/** Lines of JSON with sorted keys, the header first, so that diffs are readable. */
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

/** Throws `CommandFailure` with the number of the invalid line. */
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
    // reported below
  }
  throw new CommandFailure(`${file}:${number}: this is not a JSON object; expected a golden file${AGAIN}`);
}

const MOST_BYTES = 500_000_000;

/** Beside the clip: `yard.mp4` and the graph `detect` → `yard.detect.golden.ndjson`. */
export function defaultGolden(graph: string, clip: string): string {
  const name = basename(graph, extname(graph));
  return join(dirname(clip), `${basename(clip, extname(clip))}.${name}.golden.ndjson`);
}

/** Throws `CommandFailure`; for a missing file with the command that records it. */
export function readGolden(file: string, recordWords: string): Golden {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new CommandFailure(
      `there is no golden file ${file}\n  record one and review it: npx windhover ${recordWords}`,
    );
  if (!found.isFile()) throw new CommandFailure(`${file} is not a regular file; expected a golden file`);
  if (found.size > MOST_BYTES) throw new CommandFailure(`${file} has ${found.size} bytes, too many for a golden file`);
  try {
    return parseGolden(readFileSync(file, "utf8"), file);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Written atomically. */
export function writeGolden(file: string, golden: Golden): void {
  const part = join(dirname(file), `.${basename(file)}.${process.pid}.part`);
  try {
    writeFileSync(part, formatGolden(golden));
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw new CommandFailure(`${file} cannot be written: ${(error as Error).message}; give another file with -o`, {
      cause: error,
    });
  }
}
