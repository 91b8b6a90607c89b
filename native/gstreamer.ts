/** State of GStreamer that belongs to the whole process: registry, network restrictions, log. */
import { addon, type LogEntry } from "./addon.ts";

export type { LogEntry } from "./addon.ts";

/** All factories without their properties. Cheap: loads no plugin. */
export const listFactories = (): unknown[] => addon.listFactories();

/** One factory with its properties; loads its plugin. Undefined when no factory has this name. */
export const describeFactory = (name: string): unknown => addon.describeFactory(name);

/** Above every rank that plugins give themselves (GST_RANK_PRIMARY is 256). */
const PREFERRED_RANK = 4096;
const RANK_NONE = 0;

/** Makes autopluggers choose these factories over others, the first before the second. */
export function preferFactories(names: readonly string[]): void {
  for (const [index, name] of names.entries()) addon.setRank(name, PREFERRED_RANK + names.length - index);
}

/** Autopluggers do not choose these factories. */
export function avoidFactories(names: readonly string[]): void {
  for (const name of names) addon.setRank(name, RANK_NONE);
}

/** A name with addresses resolves to these addresses, whatever DNS answers later. */
export interface AllowedHost {
  readonly host: string;
  readonly addresses: readonly string[];
}

/**
 * From now on GStreamer elements open TCP connections to these hosts only. An RTSP redirect or a track with an address of
 * another host fails. Runners and probes call this; commands leave the network open.
 */
export const allowConnections = (hosts: readonly AllowedHost[]): void => addon.allowConnections(hosts);

interface Factory {
  readonly name: string;
  readonly klass: string;
}

/**
 * Keeps autopluggers from choosing elements that open connections by themselves: playlists (DASH, HLS, Smooth Streaming),
 * session descriptions, and all sources. Elements that a graph names are created all the same.
 */
export function closeAutoplug(): void {
  for (const { name, klass } of listFactories() as readonly Factory[]) {
    const parts = klass.split("/");
    const fetches = parts.includes("Adaptive") || (parts.includes("Demuxer") && parts.includes("Network"));
    if (fetches || parts.includes("Source")) addon.setRank(name, RANK_NONE);
  }
}

/**
 * Returns freed memory to the system, of all threads. After the end of something large: the allocator keeps what lies
 * between blocks in use, which is as much as a whole network. Takes milliseconds.
 */
export const releaseMemory = (): void => addon.releaseMemory();

/** Sends every message of GStreamer's and GLib's log to `receive` instead of stderr; null stops it. One receiver per process. */
export const receiveLog = (receive: ((entry: LogEntry) => void) | null): void => addon.onLog(receive);

/** In the format of GST_DEBUG: `2`, `rtspsrc:5`, `*:2,queue*:4`. */
export const setLogLevels = (levels: string): void => addon.setLogLevels(levels);

/** For leak tests: GStreamer reports leaked objects when it is deinitialised, and cannot be used afterwards. */
export const deinitGStreamer = (): void => addon.deinit();
