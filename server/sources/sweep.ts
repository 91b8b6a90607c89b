/** What a crash left of uploads and deletions, brought to an end: before anything is served. */
import type { Logger } from "pino";
import type { Sql } from "../store/client.ts";
import { findKeptFiles } from "../store/uploads.ts";
import type { VideoFolder } from "./video-folder.ts";

interface SweepOptions {
  readonly sql: Sql;
  readonly folder: VideoFolder;
  readonly log: Logger;
  /** Whether the database lies beside the videos: another one may just be the wrong one. */
  readonly isOwnDatabase: boolean;
}

export async function sweepVideos({ sql, folder, log, isOwnDatabase }: SweepOptions): Promise<void> {
  for (const name of await folder.listPartial()) await settleFile(sql, folder, name);
  const kept = await folder.listKept();
  const known = await findKeptFiles(sql, kept);
  const strays = kept.filter((name) => !known.has(name));
  if (strays.length === 0) return;
  if (isOwnDatabase) await Promise.all(strays.map((name) => folder.removeKept(name)));
  const words = isOwnDatabase ? "removed videos that no source names" : "there are videos that no source names";
  log.warn({ count: strays.length }, words);
}

/** A file on its way that a source names goes to its place; any other goes. */
export async function settleFile(sql: Sql, folder: VideoFolder, name: string): Promise<void> {
  const named = await findKeptFiles(sql, [name]);
  if (named.has(name) && !(await folder.has(name)) && (await folder.hasPartial(name))) await folder.keep(name);
  else await folder.removePartial(name);
}
