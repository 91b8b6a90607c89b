/** What a run says on standard error: sentences for people or, with --json, lines of JSON. */

import type { ElementEvent } from "../../elements/element.ts";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { type LogEntry, receiveLog, setLogLevels } from "../../native/log.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Colour, Terminal } from "../terminal.ts";

export class Reporter {
  readonly #terminal: Terminal;
  readonly #json: boolean;
  readonly #quiet: boolean;

  constructor(terminal: Terminal, { json, quiet }: { readonly json: boolean; readonly quiet: boolean }) {
    this.#terminal = terminal;
    this.#json = json;
    this.#quiet = quiet;
  }

  /** What is good to know. */
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

// What a running graph tells, for whoever watches.
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

/** Why the first attempt follows has been said by the loss; why further ones do has not. */
function describeWait({ reason, attempt, retry_in_ms }: ElementEvent): string {
  const again = `trying again in ${(Number(retry_in_ms) / 1000).toFixed(1)} s`;
  return Number(attempt) > 1 ? `still away: ${reason}; ${again}` : again;
}

// --log: GStreamer's own messages, a line each.
const COLOURS: Readonly<Record<LogEntry["level"], Colour>> = {
  error: "red",
  warn: "yellow",
  info: "green",
  debug: "blue",
  trace: "dim",
};

/** Bytes that may wait for a slow reader; beyond them messages are counted instead of printed. */
export const MOST_WAITING_BYTES = 1_000_000;

/** GLib's own warnings are shown without being asked for. Returns how to stop. */
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

  /** Tells what no later message has told. */
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

/** GLib has no levels to set: what it tells about its own insides is left out. */
const isChatter = ({ level, category }: LogEntry): boolean =>
  /^(GLib|dconf|libsoup)/i.test(category) && level !== "error" && level !== "warn";

function formatEntry({ level, category, source, message, lost }: LogEntry, { paintErr: paint }: Terminal): string {
  const place = source === "" ? category : `${category} ${paint("cyan", source)}`;
  const missing = lost > 0 ? paint("dim", ` (${lost} before it were lost)`) : "";
  return `${paint(COLOURS[level], level.padEnd(5))} ${place}: ${message}${missing}`;
}
