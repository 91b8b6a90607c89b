/**
 * Repairs files that were being written when the hub was killed: truncates them to their intact part, writes the index, and
 * reports them as finished. Removes files without an intact fragment. For recordings that the server lacks reports of, it
 * also reports finished files.
 */

import { type FileHandle, open, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { findBox } from "../../media/mp4/box.ts";
import { findIntact, findRandomAccess, type Intact, readAt } from "../../media/mp4/fragment-index.ts";
import type { RecordedSegment } from "../../schemas/hub.ts";
import type { Log } from "../log.ts";
import { type Label, readLabel, SegmentFile } from "./segment-file.ts";
import { explainDiskError, type RecordingMessage } from "./writer.ts";

export interface RepairOptions {
  /** Root of all recordings. */
  readonly folder: string;
  /** The recording is in progress and not damaged. */
  readonly isActive: (recording: string) => boolean;
  /** Report all files of the recording, not only repaired ones. */
  readonly isUnreported: (recording: string) => boolean;
  readonly notify: (message: RecordingMessage) => void;
  readonly log: Log;
}

const FILE_NAME = /^(\d+)\.mp4$/;
const MAX_HEAD_BYTES = 65_536;
const TAIL_BYTES = 64;

/** Never rejects: files that cannot be repaired are logged and left. */
export async function repairRecordings({ folder, isActive, isUnreported, notify, log }: RepairOptions): Promise<void> {
  for (const recording of await list(folder)) {
    if (isActive(recording)) continue;
    let last: RecordedSegment | null = null;
    for (const name of await list(join(folder, recording))) {
      const index = FILE_NAME.exec(name)?.[1];
      if (index === undefined) continue;
      try {
        const found = await repairFile(join(folder, recording, name), isUnreported(recording));
        if (found === null) continue;
        last = { recording, index: Number(index), ...found };
        notify({ type: "segment", segment: last });
      } catch (error) {
        log("warn", "recording repair failed", { recording, index: Number(index), detail: explainDiskError(error) });
      }
    }
    await rmdir(join(folder, recording)).catch(() => {});
    if (last === null) continue;
    const stoppedAtMs = last.startedAtMs + last.durationMs;
    notify({ type: "recorded", recording, stoppedAtMs, detail: "the media server was restarted" });
  }
}

/** Null: nothing to repair or report, or the file was removed. */
async function repairFile(
  name: string,
  isUnreported: boolean,
): Promise<Omit<RecordedSegment, "recording" | "index"> | null> {
  const file = await open(name, "r+");
  let isOurs = true;
  try {
    const { size } = await file.stat();
    const tail = await readAt(file, Math.max(size - TAIL_BYTES, 0), TAIL_BYTES);
    const isFinished = findRandomAccess(tail, size) !== null;
    if (isFinished && !isUnreported) return null;
    const intact = await findIntact(file);
    if (intact.bytes === 0) await rm(name, { force: true });
    const head = await readHead(file, intact);
    if (head === null) return null;
    if (isFinished) return { ...head.label, durationMs: intact.durationUs / 1000, bytes: size };
    await file.truncate(intact.bytes);
    const segment = SegmentFile.resume(file, head.bytes, intact);
    isOurs = false;
    await segment.finish();
    return { ...head.label, durationMs: segment.durationMs, bytes: segment.bytes };
  } finally {
    if (isOurs) await file.close();
  }
}

/** Reads everything before the first fragment. Null unless the hub wrote the file. */
async function readHead(file: FileHandle, { fragments }: Intact): Promise<{ label: Label; bytes: Buffer } | null> {
  const length = fragments[0]?.offset ?? 0;
  if (length === 0 || length > MAX_HEAD_BYTES) return null;
  const bytes = await readAt(file, 0, length);
  const content = findBox(bytes, "uuid");
  const label = content === null ? null : readLabel(content);
  return label === null ? null : { label, bytes };
}

const byNumber = new Intl.Collator("en", { numeric: true }).compare;

const list = async (folder: string): Promise<string[]> => (await readdir(folder).catch(() => [])).toSorted(byNumber);
