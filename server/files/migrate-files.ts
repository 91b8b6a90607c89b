/** Moves files from the data folder of a node to the bucket, after the fact. */
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Sql } from "../store/client.ts";
import { confirmFile, expectFile, findMovable, findStoredFile, type NewFile } from "../store/files.ts";
import { type FileStore, FolderStore } from "./file-store.ts";

export interface LocalFile extends NewFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly writtenAt: Date;
}

const VIDEO = /^videos\/[^/]+$/;
const RECORDING = /^recordings\/([0-9a-f-]{36})\/(\d{1,9})\.mp4$/;
const DETECTIONS = /^detections\/([0-9a-f-]{36})\/(\d{1,9})\.ndjson\.gz$/;
const PROCESS_RECORDING = /^process-recordings\/([0-9a-f-]{36})\/(\d{1,9})\.mp4$/;

/** `unknown`: files that nothing in the database refers to, or that are in progress. */
export async function listLocalFiles(
  sql: Sql,
  dataDir: string,
): Promise<{ readonly known: readonly LocalFile[]; readonly unknown: readonly string[] }> {
  const known: LocalFile[] = [];
  const unknown: string[] = [];
  for (const folder of ["videos/", "recordings/", "process-recordings/", "detections/"])
    for await (const { key, sizeBytes, modifiedAt: writtenAt } of new FolderStore(dataDir).list(folder)) {
      const name = readName(key);
      // Partial uploads, and copies of what is in the bucket.
      if (name === null) continue;
      const file = await findMovable(sql, name);
      if (file === null) unknown.push(key);
      else known.push({ ...file, path: join(dataDir, key), sizeBytes, writtenAt });
    }
  return { known, unknown };
}

function readName(key: string): Parameters<typeof findMovable>[1] | null {
  if (VIDEO.test(key)) return { kind: "video", fileName: basename(key) };
  const [, recording, segment] = RECORDING.exec(key) ?? [];
  if (recording !== undefined) return { kind: "recording", ownerUuid: recording, index: Number(segment) };
  const [, process, index] = PROCESS_RECORDING.exec(key) ?? [];
  if (process !== undefined) return { kind: "process-recording", ownerUuid: process, index: Number(index) };
  const [, detected, part] = DETECTIONS.exec(key) ?? [];
  return detected === undefined ? null : { kind: "detections", ownerUuid: detected, index: Number(part) };
}

/** Idempotent: a file that the bucket has is not sent again. */
export async function migrateFile(sql: Sql, store: FileStore, file: LocalFile, isKept: boolean): Promise<void> {
  const { key, kind, ownerUuid, index, path, sizeBytes, writtenAt } = file;
  const row = await findStoredFile(sql, kind, ownerUuid, index);
  const isThere = row?.sizeBytes === sizeBytes && (await store.stat(key))?.sizeBytes === sizeBytes;
  if (!isThere) {
    await expectFile(sql, file);
    const put = await store.put(key, path);
    // Deleted meanwhile, by a user or by the retention: the local file is, too.
    if (!(await confirmFile(sql, { key, ...put, writtenAt }))) return store.remove(key);
  }
  if (!isKept) await rm(path, { force: true });
}
