/** Notes, warnings and errors of a run on standard error, with --json as lines of JSON; and GStreamer's log. */

import type { ElementEvent } from "../../elements/element.ts";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { failureOf } from "../../graphs/runtime/handlers.ts";
import { type LogEntry, receiveLog, setLogLevels } from "../../native/gstreamer.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { EXIT } from "../command.ts";
import { withTrace } from "../faults.ts";
import type { Terminal } from "../terminal.ts";
import type { Colour } from "../text.ts";

export class Reporter {
  readonly #terminal: Terminal;
  readonly #json: boolean;
  readonly #quiet: boolean;

  constructor(terminal: Terminal, { json, quiet }: { readonly json: boolean; readonly quiet: boolean }) {
    this.#terminal = terminal;
    this.#json = json;
    this.#quiet = quiet;
  }

  note(text: string, record: JsonRecord): void {
    if (!this.#quiet) this.#say(null, text, record);
  }

  warn(text: string, record: JsonRecord): void {
    if (!this.#quiet) this.#say("yellow", text, record);
  }

  error(text: string, record: JsonRecord): void {
    this.#say("red", text, record);
  }

  #say(colour: Colour | null, text: string, record: JsonRecord): void {
    if (this.#json) {
      this.#terminal.say(maskCredentials(JSON.stringify(record)));
      return;
    }
    const [subject, rest] = split(text);
    const painted =
      colour === null ? this.#terminal.paintErr("bold", subject) : this.#terminal.paintErr(colour, subject);
    this.#terminal.say(maskCredentials(painted + rest));
  }
}

/** `decode: it broke` → the name and the rest. */
function split(text: string): readonly [string, string] {
  const end = /^[\w:./-]+:(?= )/.exec(text)?.[0].length ?? 0;
  return [text.slice(0, end), text.slice(end)];
}

export function reportEvent(event: GraphEvent, reporter: Reporter): void {
  if (event.type === "element") reportElement(event.node, event.event, reporter);
  else if (event.type === "log" && event.level !== "debug") {
    const { level, node, message, fields } = event;
    const text = `${node}: ${message}${formatFields(fields)}`;
    const record = { type: "log", level, node, message, ...(fields && { fields }) };
    if (level === "error") reporter.error(text, record);
    else if (level === "warn") reporter.warn(text, record);
    else reporter.note(text, record);
  }
}

function formatFields(fields: object | undefined): string {
  const shown = Object.entries(fields ?? {}).filter(([name, value]) => name !== "debug" && value !== "");
  return shown.length === 0 ? "" : ` (${shown.map(([name, value]) => `${name} ${String(value)}`).join(", ")})`;
}

function reportElement(node: string, event: ElementEvent, reporter: Reporter): void {
  const record = { type: "element", node, event };
  if (event.type !== "source") {
    reporter.note(`${node}: ${JSON.stringify(event)}`, record);
    return;
  }
  switch (event.state) {
    case "lost":
      reporter.warn(`${node}: lost: ${event.reason}`, record);
      break;
    case "waiting":
      reporter.note(`${node}: ${describeWait(event)}`, record);
      break;
    case "live":
      if (Number(event.attempt) > 1) reporter.note(`${node}: live again`, record);
      break;
  }
}

/** The reason of the first attempt was reported with the loss. */
function describeWait({ reason, attempt, retry_in_ms }: ElementEvent): string {
  const retry = `retry in ${(Number(retry_in_ms) / 1000).toFixed(1)} s`;
  return Number(attempt) > 1 ? `still offline: ${reason}; ${retry}` : retry;
}

const COLOURS: Readonly<Record<LogEntry["level"], Colour>> = {
  error: "red",
  warn: "yellow",
  info: "green",
  debug: "blue",
  trace: "dim",
};

/** Bytes buffered for a slow reader; further messages are counted instead of printed. */
export const MOST_WAITING_BYTES = 1_000_000;

/** --log: prints GStreamer's log. GLib's warnings are always shown. Returns a function that stops it. */
export function showLog(levels: string | null, json: boolean, terminal: Terminal): () => void {
  const lines = new LogLines(json, terminal);
  receiveLog((entry) => lines.take(entry));
  if (levels !== null) setLogLevels(levels);
  return () => {
    receiveLog(null);
    lines.close();
  };
}

export class LogLines {
  readonly #json: boolean;
  readonly #terminal: Terminal;
  #lost = 0;

  constructor(json: boolean, terminal: Terminal) {
    this.#json = json;
    this.#terminal = terminal;
  }

  take(entry: LogEntry): void {
    if (isChatter(entry)) return;
    const lost = this.#lost + entry.lost;
    if (this.#terminal.unread > MOST_WAITING_BYTES) {
      this.#lost = lost + 1;
      return;
    }
    this.#lost = 0;
    this.#say({ ...entry, lost });
  }

  /** Reports losses that no later message has reported. */
  close(): void {
    if (this.#lost === 0) return;
    const message = "the end of the log was not read in time";
    this.#say({ level: "warn", category: "windhover", source: "", message, lost: this.#lost });
    this.#lost = 0;
  }

  #say(entry: LogEntry): void {
    const line = this.#json ? JSON.stringify({ type: "log", ...entry }) : formatEntry(entry, this.#terminal);
    this.#terminal.say(maskCredentials(line));
  }
}

/** GLib's debug messages cannot be disabled by level. */
const isChatter = ({ level, category }: LogEntry): boolean =>
  /^(GLib|dconf|libsoup)/i.test(category) && level !== "error" && level !== "warn";

function formatEntry({ level, category, source, message, lost }: LogEntry, { paintErr: paint }: Terminal): string {
  const place = source === "" ? category : `${category} ${paint("cyan", source)}`;
  const missing = lost > 0 ? paint("dim", ` (${lost} lost before)`) : "";
  return `${paint(COLOURS[level], level.padEnd(5))} ${place}: ${message}${missing}`;
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;

/** Reports an uncaught error, such as one in a timer of an element, and exits. Returns a function that removes the listeners. */
export function exitOnUncaught(reporter: Reporter, terminal: Terminal): () => void {
  const exit = (thrown: unknown): void => {
    const { message, trace } = failureOf(null, thrown);
    const error = `uncaught error: ${maskCredentials(message)}`;
    terminal.clear();
    reporter.error(`windhover: ${withTrace(error, trace)}`, { type: "crash", error, trace: [...trace] });
    void terminal.flush().finally(() => process.exit(EXIT.failed));
  };
  for (const event of EVENTS) process.on(event, exit);
  return () => {
    for (const event of EVENTS) process.off(event, exit);
  };
}
