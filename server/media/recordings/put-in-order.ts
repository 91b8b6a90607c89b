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

/** Resolves with those that were not brought to an end: the hub repairs their files and tells how much there is. */
export async function putRecordingsInOrder(needs: OrderNeeds): Promise<readonly KeptRecording[]> {
  const { sql, folder, nodeUuid, log, isOwnDatabase } = needs;
  const names = await folder.list();
  const kept = await claimRecordings(sql, nodeUuid, names);
  const known = new Set(kept.map(({ uuid }) => uuid));
  const strays = names.filter((name) => !known.has(name));
  if (isOwnDatabase) {
    for (const name of strays) await folder.remove(name);
    const forgotten = await forgetOthers(sql, names);
    if (forgotten > 0) log.warn({ count: forgotten }, "forgot recordings whose files are gone");
  }
  if (strays.length > 0) {
    const words = isOwnDatabase ? "removed recordings that nobody knows" : "there are recordings that nobody knows";
    log.warn({ count: strays.length }, words);
  }
  for (const recording of kept) await matchFiles(recording, needs);
  return kept.filter(({ stoppedAt }) => stoppedAt === null);
}

async function matchFiles({ uuid, stoppedAt, segments }: KeptRecording, needs: OrderNeeds): Promise<void> {
  const { sql, folder, isOwnDatabase } = needs;
  const files = new Set(await folder.listSegments(uuid));
  const missing = segments.map(({ index }) => index).filter((index) => !files.has(index));
  await forgetSegments(sql, uuid, missing);
  // Its last files may not have been written down yet.
  if (stoppedAt === null) return;
  if (missing.length > 0) await closeRecording(sql, uuid, stoppedAt, "some of its files are gone");
  if (!isOwnDatabase) return;
  const known = new Set(segments.map(({ index }) => index));
  for (const index of files) if (!known.has(index)) await folder.removeSegment(uuid, index);
}
