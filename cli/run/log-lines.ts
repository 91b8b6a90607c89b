/** --log: GStreamer's own messages, a line each. */
import { type LogEntry, receiveLog, setLogLevels } from "../../native/gstreamer.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Colour, Terminal } from "../terminal.ts";

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
