/** GStreamer's and GLib's own log messages. */
import { addon, type LogEntry } from "./addon.ts";

export type { LogEntry } from "./addon.ts";

/** Every message from now on goes to `receive` instead of standard error; null stops it. One receiver a process. */
export function receiveLog(receive: ((entry: LogEntry) => void) | null): void {
  addon.onLog(receive);
}

/** As in GST_DEBUG: `2`, `rtspsrc:5`, `*:2,queue*:4`. */
export function setLogLevels(levels: string): void {
  addon.setLogLevels(levels);
}
