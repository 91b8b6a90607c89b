/** --log: GStreamer's own messages, a line each. */
import { type LogEntry, receiveLog, setLogLevels } from "../../native/log.ts";
import type { Colour, Terminal } from "../terminal.ts";

const COLOURS: Readonly<Record<LogEntry["level"], Colour>> = {
  error: "red",
  warn: "yellow",
  info: "green",
  debug: "blue",
  trace: "dim",
};

/** GLib's own warnings are shown without being asked for. Returns how to stop. */
export function showLog(levels: string | null, json: boolean, terminal: Terminal): () => void {
  receiveLog((entry) => {
    if (isChatter(entry)) return;
    terminal.say(json ? JSON.stringify({ type: "log", ...entry }) : formatEntry(entry, terminal));
  });
  if (levels !== null) setLogLevels(levels);
  return () => receiveLog(null);
}

/** GLib has no levels to set: what it tells about its own insides is left out. */
const isChatter = ({ level, category }: LogEntry): boolean =>
  /^(GLib|dconf|libsoup)/i.test(category) && level !== "error" && level !== "warn";

function formatEntry({ level, category, source, message, lost }: LogEntry, { paintErr: paint }: Terminal): string {
  const place = source === "" ? category : `${category} ${paint("cyan", source)}`;
  const missing = lost > 0 ? paint("dim", ` (${lost} before it were lost)`) : "";
  return `${paint(COLOURS[level], level.padEnd(5))} ${place}: ${message}${missing}`;
}
