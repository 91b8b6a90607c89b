/** What a crash left of recordings, rows and files, made to fit together: before anything is recorded. */
import type { Logger } from "pino";
import type { Sql } from "../../store/client.ts";
import { claimRecordings, forgetOthers, forgetSegments, type KeptRecording } from "../../store/recording-upkeep.ts";
import { closeRecording } from "../../store/recordings.ts";
import type { RecordingFolder } from "./recording-folder.ts";

interface OrderNeeds {
  readonly sql: Sql;
  readonly folder: RecordingFolder;
  readonly nodeUuid: string;
  readonly log: Logger;
  /** Whether the database lies beside the recordings: another one may just be the wrong one. */
  readonly isOwnDatabase: boolean;
}

/** What the hub is to tell of, file by file, since less of it was written down than is there. */
export interface Untold {
  /** Not brought to an end, or with files that have no row. */
  readonly kept: readonly KeptRecording[];
  /** Files without a recording: it was made while the database was away. */
  readonly names: readonly string[];
}

/** No file goes here: what nobody knows of may be a good recording all the same. */
export async function putRecordingsInOrder(needs: OrderNeeds): Promise<Untold> {
  const { sql, folder, nodeUuid, log, isOwnDatabase } = needs;
  const names = await folder.list();
  const kept = await claimRecordings(sql, nodeUuid, names);
  const known = new Set(kept.map(({ uuid }) => uuid));
  const strays = names.filter((name) => !known.has(name));
  if (isOwnDatabase) {
    const forgotten = await forgetOthers(sql, names);
    if (forgotten > 0) log.warn({ count: forgotten }, "forgot recordings whose files are gone");
  }
  const untold: KeptRecording[] = [];
  for (const recording of kept) if (await matchFiles(recording, needs)) untold.push(recording);
  return { kept: untold, names: strays };
}

/** Whether there is more to it than was written down. */
async function matchFiles({ uuid, stoppedAt, segments }: KeptRecording, { sql, folder }: OrderNeeds): Promise<boolean> {
  const files = new Set(await folder.listSegments(uuid));
  const missing = segments.map(({ index }) => index).filter((index) => !files.has(index));
  await forgetSegments(sql, uuid, missing);
  if (stoppedAt === null) return true;
  if (missing.length > 0) await closeRecording(sql, uuid, stoppedAt, "some of its files are gone");
  const known = new Set(segments.map(({ index }) => index));
  return [...files].some((index) => !known.has(index));
}
