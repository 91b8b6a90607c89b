/** What GStreamer may reach over the network. Of the whole process: runners and probes close it, commands leave it open. */
import { addon } from "./addon.ts";
import { listFactories } from "./registry.ts";

/** A name with addresses stands for these, whatever it means by now. */
export interface AllowedHost {
  readonly host: string;
  readonly addresses: readonly string[];
}

/**
 * From now on TCP connections of GStreamer's elements lead to these hosts alone, whatever a server says of others: a
 * redirect of RTSP or a track with an address of its own fails.
 */
export const allowConnections = (hosts: readonly AllowedHost[]): void => addon.allowConnections(hosts);

interface Factory {
  readonly name: string;
  readonly klass: string;
}

const RANK_NONE = 0;

/**
 * What fetches by itself is never chosen by what is in a file or stream: playlists (DASH, HLS, Smooth Streaming), session
 * descriptions, and every source. Elements that a graph names are made all the same.
 */
export function closeAutoplug(): void {
  for (const { name, klass } of listFactories() as readonly Factory[]) {
    const parts = klass.split("/");
    const fetches = parts.includes("Adaptive") || (parts.includes("Demuxer") && parts.includes("Network"));
    if (fetches || parts.includes("Source")) addon.setRank(name, RANK_NONE);
  }
}
