/** The oldest of everything that is recorded on this machine, whoever made it. */
import type { Sql } from "../../store/client.ts";
import { findOldestSegment, removeSegment } from "../../store/recording-upkeep.ts";
import { type FoundFile, findOldestFile, removeFile } from "./old-files.ts";
import type { RecordingFolder } from "./recording-folder.ts";

interface OldestNeeds {
  readonly sql: Sql;
  readonly nodeUuid: string;
  readonly folder: RecordingFolder;
  readonly otherFolders: readonly string[];
}

/** What has been written to since is still being written. */
const WRITTEN_MS = 60_000;

/** Resolves with its size. Null: there is nothing but what is being written. */
export async function removeOldest(needs: OldestNeeds): Promise<number | null> {
  const { sql, nodeUuid, folder } = needs;
  const [segment, file] = await Promise.all([findOldestSegment(sql, nodeUuid), findOther(needs)]);
  if (file !== null && (segment === null || file.modifiedMs < segment.endedAt.getTime())) {
    await removeFile(file);
    return file.sizeBytes;
  }
  if (segment === null) return null;
  // First its row: a file without one is found by the next start.
  await removeSegment(sql, segment);
  await folder.removeSegment(segment.recordingUuid, segment.index);
  return segment.sizeBytes;
}

async function findOther({ otherFolders }: OldestNeeds): Promise<FoundFile | null> {
  const beforeMs = Date.now() - WRITTEN_MS;
  const found = await Promise.all(otherFolders.map((folder) => findOldestFile(folder, beforeMs)));
  const files = found.filter((file) => file !== null);
  return files.sort((a, b) => a.modifiedMs - b.modifiedMs)[0] ?? null;
}
