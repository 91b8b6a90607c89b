/** Replays recorded messages through the handler of the element `alerts`, without a graph. */

import { createReadStream } from "node:fs";
import { AlertsHandler } from "../../elements/alerts/handler.ts";
import { showPointer } from "../../graphs/compiler/located.ts";
import type { AlertEvent, AlertRule } from "../../schemas/alerts.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { checkBy } from "../../server/validation.ts";
import { CommandFailure } from "../command.ts";
import { statFile } from "../files.ts";
import { Progress } from "../progress.ts";
import type { Reporter } from "../run/reporter.ts";
import type { Terminal } from "../terminal.ts";
import type { Replay } from "./replay.ts";
import { Scenes } from "./scenes.ts";
import { NO_UUID } from "./sending.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

interface MessagesView {
  readonly reporter: Reporter;
  readonly terminal: Terminal;
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

/** Rejects with `CommandFailure` at the first line that is not a valid message; earlier messages were replayed. */
export async function playMessages(
  file: string,
  rules: readonly AlertRule[],
  replay: Replay,
  { reporter, terminal, isQuiet, signal }: MessagesView,
): Promise<void> {
  const scenes = new Scenes();
  const send = async (_: string, message: object): Promise<void> => {
    const finding = message as AlertEvent;
    replay.find({ ...finding, tracks: finding.tracks.map((entry) => scenes.restore(entry)) });
  };
  const handler = new AlertsHandler({ rules }, { send, log: SILENT });
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

/** Channel of the element `detections`. */
const CHANNEL = "detection_data";

/** Fields of later versions are ignored. */
const check = checkBy({ ...DetectionMessage, additionalProperties: true } as typeof DetectionMessage);

export interface RecordedMessage {
  readonly message: DetectionMessage;
  /** Share of the file read so far, from 0 to 1. */
  readonly part: number;
}

/** Throws `CommandFailure`, with the line number, for an invalid message and for a file without messages. */
export async function* readMessages(file: string, onCut: (text: string) => void): AsyncGenerator<RecordedMessage> {
  const { size } = statFile(file, HOW_TO, true);
  let count = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let broken: string | null = null;
  for await (const { text, number, bytesRead } of splitLines(file)) {
    if (text.trim() === "") continue;
    // Only the last line may be incomplete.
    if (broken !== null) throw new CommandFailure(broken);
    const read = readLine(number === 1 ? text.replace(/^\uFEFF/, "") : text);
    if (read === "other") continue;
    if (typeof read === "string") {
      broken = `${file}:${number}: ${read}`;
      if (count === 0) throw new CommandFailure(broken);
      continue;
    }
    const fault = findFault(read, lastMs);
    if (fault !== null) throw new CommandFailure(`${file}:${number}: ${fault}`);
    lastMs = Date.parse(read.timestamp);
    count += 1;
    yield { message: read, part: size === 0 ? 1 : Math.min(1, bytesRead / size) };
  }
  if (broken !== null) onCut(`${broken.slice(0, broken.indexOf(": "))}: the last line is incomplete and was skipped`);
  if (count === 0) throw new CommandFailure(`${file} has no messages; ${HOW_TO}`);
}

const HOW_TO = "expected detection messages, one per line, as `windhover run detect CLIP > FILE` writes them";

/** The message; or `other` for the header or another channel of a golden file; or what is wrong with the line. */
function readLine(text: string): DetectionMessage | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `this is not valid JSON; ${HOW_TO}`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return `this is not a JSON object; ${HOW_TO}`;
  if ("active_tracks" in value) return value as DetectionMessage;
  if ("golden" in value) return "other";
  // A line of a golden file wraps the message, without process and source.
  if (!("channel" in value) || !("message" in value)) return value as DetectionMessage;
  if (value.channel !== CHANNEL) return "other";
  return { source_uri: "", process_uuid: NO_UUID, ...(value.message as object) } as DetectionMessage;
}

function findFault(message: DetectionMessage, lastMs: number): string | null {
  const [fault] = check(message);
  if (fault !== undefined)
    return `this is not a detection message: ${showPointer(fault.path) || "it"} ${fault.message}; ${HOW_TO}`;
  const timeMs = Date.parse(message.timestamp);
  if (Number.isNaN(timeMs)) return `timestamp is "${message.timestamp}", which is not a valid time`;
  if (timeMs < lastMs)
    return `its timestamp ${message.timestamp} is earlier than that of the previous message; expected one recording, in order`;
  return null;
}

const MOST_CHARACTERS = 4_000_000;

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  readonly bytesRead: number;
}

/** Streams the lines of a file. Throws `CommandFailure` for a line that is too long. */
export async function* splitLines(file: string): AsyncGenerator<Line> {
  const stream = createReadStream(file, { encoding: "utf8" });
  let rest = "";
  let number = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) yield { text, number: ++number, bytesRead: stream.bytesRead };
    if (rest.length > MOST_CHARACTERS)
      throw new CommandFailure(`${file}:${number + 1}: this line is too long for a message`);
  }
  if (rest !== "") yield { text: rest, number: ++number, bytesRead: stream.bytesRead };
}
