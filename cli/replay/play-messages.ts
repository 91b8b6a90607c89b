/** Recorded messages through the very element that evaluates alerts, without a graph around it. */

import { createReadStream, statSync } from "node:fs";
import { AlertsHandler } from "../../elements/alerts/handler.ts";
import type { AlertFinding, AlertRule } from "../../schemas/alerts.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { checkBy } from "../../server/validation.ts";
import { CommandFailure } from "../command.ts";
import { findNearFile } from "../files.ts";
import { Progress } from "../progress.ts";
import type { Reporter } from "../run/reporter.ts";
import type { Terminal } from "../terminal.ts";
import { showPointer } from "./read-bodies.ts";
import type { Replay } from "./replay.ts";
import { Scenes } from "./scenes.ts";
import { NO_UUID } from "./sending.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Rejects with `CommandFailure` for a file that is no recording; what came before the fault has been shown. */
export async function playMessages(
  file: string,
  rules: readonly AlertRule[],
  replay: Replay,
  { reporter, terminal, isQuiet, signal }: MessagesView,
): Promise<void> {
  const scenes = new Scenes();
  const restore = (finding: AlertFinding): AlertFinding => ({
    ...finding,
    tracks: finding.tracks.map((entry) => scenes.restore(entry)),
  });
  const handler = new AlertsHandler({ rules }, async (finding) => replay.find(restore(finding)), SILENT);
  const progress = isQuiet || !terminal.isLive ? null : new Progress(terminal, "messages");
  const onCut = (text: string): void => reporter.warn(text, { type: "cut", text });
  let count = 0;
  try {
    for await (const { message, part } of readMessages(file, onCut)) {
      if (signal.aborted) return;
      await handler.process(scenes.next(message));
      await replay.see(message);
      count += 1;
      progress?.show(count, null, `${Math.floor(part * 100)}%`);
    }
  } finally {
    progress?.end();
  }
}

export interface MessagesView {
  readonly reporter: Reporter;
  readonly terminal: Terminal;
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

// `--from FILE`: recorded detection messages, one a line, in the order of their times.
/** On which the element `detections` sends. */
const CHANNEL = "detection_data";

/** Fields that a later version adds are none of our business here. */
const check = checkBy({ ...DetectionMessage, additionalProperties: true } as typeof DetectionMessage);

export interface RecordedMessage {
  readonly message: DetectionMessage;
  /** Share of the file up to here, from 0 to 1. */
  readonly part: number;
}

/** Throws `CommandFailure` with the line for what is no message, and for a file that has none. */
export async function* readMessages(file: string, onCut: (text: string) => void): AsyncGenerator<RecordedMessage> {
  const size = expectText(file);
  let count = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let broken: string | null = null;
  for await (const { text, number, bytesRead } of splitLines(file)) {
    if (text.trim() === "") continue;
    // Only the last line may be cut off; that another follows shows that it was none.
    if (broken !== null) throw new CommandFailure(broken);
    const read = readLine(number === 1 ? text.replace(/^\uFEFF/, "") : text);
    if (read === "other") continue;
    if (typeof read === "string") {
      broken = `${file}:${number}: ${read}`;
      if (count === 0) throw new CommandFailure(broken);
      continue;
    }
    const fault = judge(read, lastMs);
    if (fault !== null) throw new CommandFailure(`${file}:${number}: ${fault}`);
    lastMs = Date.parse(read.timestamp);
    count += 1;
    yield { message: read, part: size === 0 ? 1 : Math.min(1, bytesRead / size) };
  }
  if (broken !== null) onCut(`${broken.slice(0, broken.indexOf(": "))}: the last line is cut off, and left out`);
  if (count === 0) throw new CommandFailure(`${file} has no message in it; ${HOW_TO}`);
}

const HOW_TO = "expected detection messages, one a line, as `windhover run detect CLIP > FILE` writes them";

/** The message, what is wrong with the line, or that it is of another kind: the head of a golden, another channel. */
function readLine(text: string): DetectionMessage | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `this is not JSON; ${HOW_TO}`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return `this is no object; ${HOW_TO}`;
  if ("active_tracks" in value) return value as DetectionMessage;
  if ("golden" in value) return "other";
  // A line of a golden has the message beside who sent it, without whose job it was.
  if (!("channel" in value) || !("message" in value)) return value as DetectionMessage;
  if (value.channel !== CHANNEL) return "other";
  return { source_uri: "", process_uuid: NO_UUID, ...(value.message as object) } as DetectionMessage;
}

function judge(message: DetectionMessage, lastMs: number): string | null {
  const [fault] = check(message);
  if (fault !== undefined)
    return `this is no detection message: ${showPointer(fault.path) || "it"} ${fault.message}; ${HOW_TO}`;
  const timeMs = Date.parse(message.timestamp);
  if (Number.isNaN(timeMs)) return `timestamp is "${message.timestamp}", which is no time there is`;
  if (timeMs < lastMs)
    return `its time, ${message.timestamp}, is before that of the message above; expected one recording, in order`;
  return null;
}

function expectText(file: string): number {
  try {
    const found = statSync(file);
    if (found.isDirectory()) throw new CommandFailure(`${file} is a folder; ${HOW_TO}`);
    if (!found.isFile() && !found.isFIFO()) throw new CommandFailure(`${file} is no regular file; ${HOW_TO}`);
    return found.size;
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new CommandFailure(`${file} cannot be read: ${message}`, { cause });
    const near = findNearFile(file);
    throw new CommandFailure(`there is no file ${file}${near === undefined ? "" : `; did you mean "${near}"?`}`, {
      cause,
    });
  }
}

// Lines of a file that may be long; none of them longer than what a message can be.
const MOST_CHARACTERS = 4_000_000;

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  readonly bytesRead: number;
}

/** Throws `CommandFailure` for a line without an end. */
export async function* splitLines(file: string): AsyncGenerator<Line> {
  const stream = createReadStream(file, { encoding: "utf8" });
  let rest = "";
  let number = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) yield { text, number: ++number, bytesRead: stream.bytesRead };
    if (rest.length > MOST_CHARACTERS)
      throw new CommandFailure(`${file}:${number + 1}: this line is longer than any message`);
  }
  if (rest !== "") yield { text: rest, number: ++number, bytesRead: stream.bytesRead };
}
