/** What gives way on this machine when there is too much: the oldest recording of the user who has the most. */

import type { Sql } from "../../store/client.ts";
import { findProcessOwners } from "../../store/processes.ts";
import { findOldestSegment, readRecordedBytes, removeSegment } from "../../store/recording-upkeep.ts";
import { type FoundFile, listFiles, removeFile } from "./old-files.ts";
import type { RecordingFolder } from "./recording-folder.ts";

interface OldestNeeds {
  readonly sql: Sql;
  readonly nodeUuid: string;
  readonly folder: RecordingFolder;
  /** `<folder>/<process>/<file>`. */
  readonly otherFolders: readonly string[];
}

/** What has been written to since is still being written. */
const WRITTEN_MS = 60_000;
/** Of processes that nobody knows any more. */
const NOBODY = "";

/**
 * Resolves with its size. One user who fills the disk costs no other a recording. Null: there is nothing but what is being
 * written.
 * @param aboveBytes only of users that have more than this
 */
export async function removeOldest(needs: OldestNeeds, aboveBytes = 0): Promise<number | null> {
  const { sql, nodeUuid, otherFolders } = needs;
  const [segmentBytes, found] = await Promise.all([
    readRecordedBytes(sql, nodeUuid),
    Promise.all(otherFolders.map((folder) => listFiles(folder))),
  ]);
  const files = found.flat();
  const owners = await findProcessOwners(sql, [...new Set(files.map(({ folder }) => folder))]);
  const ownerOf = ({ folder }: FoundFile): string => owners.get(folder) ?? NOBODY;
  const totals = new Map(segmentBytes);
  for (const file of files) totals.set(ownerOf(file), (totals.get(ownerOf(file)) ?? 0) + file.sizeBytes);
  const heaviestFirst = [...totals].filter(([, bytes]) => bytes > aboveBytes).sort(([, a], [, b]) => b - a);
  for (const [owner] of heaviestFirst) {
    const removed = await removeOldestOf(
      owner,
      files.filter((file) => ownerOf(file) === owner),
      needs,
    );
    if (removed !== null) return removed;
  }
  return null;
}

async function removeOldestOf(
  owner: string,
  files: readonly FoundFile[],
  { sql, nodeUuid, folder }: OldestNeeds,
): Promise<number | null> {
  const beforeMs = Date.now() - WRITTEN_MS;
  const [file] = files.filter(({ modifiedMs }) => modifiedMs < beforeMs).sort((a, b) => a.modifiedMs - b.modifiedMs);
  const segment = owner === NOBODY ? null : await findOldestSegment(sql, nodeUuid, owner);
  if (file !== undefined && (segment === null || file.modifiedMs < segment.endedAt.getTime())) {
    await removeFile(file);
    return file.sizeBytes;
  }
  if (segment === null) return null;
  // First its row: a file without one is found by the next start.
  await removeSegment(sql, segment);
  await folder.removeSegment(segment.recordingUuid, segment.index);
  return segment.sizeBytes;
}
