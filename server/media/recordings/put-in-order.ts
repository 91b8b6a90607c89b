/** What a crash left of recordings, brought to an end: before anything is recorded. */
import type { Logger } from "pino";
import type { Sql } from "../../store/client.ts";
import { claimRecordings, forgetOthers, forgetSegments, type KeptRecording } from "../../store/recording-upkeep.ts";
import { closeRecording, saveSegments } from "../../store/recordings.ts";
import type { RecordingFolder } from "./recording-folder.ts";

interface OrderNeeds {
  readonly sql: Sql;
  readonly folder: RecordingFolder;
  readonly nodeUuid: string;
  readonly log: Logger;
  /** Whether the database lies beside the recordings: another one may just be the wrong one. */
  readonly isOwnDatabase: boolean;
}

export async function putRecordingsInOrder(needs: OrderNeeds): Promise<void> {
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
  for (const recording of kept)
    await (recording.stoppedAt === null ? finish(recording, needs) : matchFiles(recording, needs));
}

/** Its server or its hub died: it ends with what is on the disk. */
async function finish({ uuid, startedAt, segments }: KeptRecording, { sql, folder }: OrderNeeds): Promise<void> {
  const files = await folder.salvage(uuid);
  const whole = files.map(({ index, bytes, durationMs, endedAtMs }) => {
    const told = segments.find((segment) => segment.index === index);
    return { index, startedAtMs: told?.startedAtMs ?? endedAtMs - durationMs, durationMs, sizeBytes: bytes };
  });
  const last = whole.at(-1);
  const stoppedAt = last === undefined ? startedAt : new Date(last.startedAtMs + last.durationMs);
  await sql.begin(async (transaction) => {
    const isThere = new Set(whole.map(({ index }) => index));
    const missing = segments.filter(({ index }) => !isThere.has(index));
    await forgetSegments(
      transaction,
      uuid,
      missing.map(({ index }) => index),
    );
    await saveSegments(transaction, uuid, whole);
    await closeRecording(transaction, uuid, stoppedAt, "the service ended unexpectedly");
  });
}

async function matchFiles({ uuid, stoppedAt, segments }: KeptRecording, needs: OrderNeeds): Promise<void> {
  const { sql, folder, isOwnDatabase } = needs;
  const files = new Set(await folder.listSegments(uuid));
  const missing = segments.map(({ index }) => index).filter((index) => !files.has(index));
  if (missing.length > 0) {
    await forgetSegments(sql, uuid, missing);
    await closeRecording(sql, uuid, stoppedAt ?? new Date(), "some of its files are gone");
  }
  if (!isOwnDatabase) return;
  const known = new Set(segments.map(({ index }) => index));
  for (const index of files) if (!known.has(index)) await folder.removeSegment(uuid, index);
}
