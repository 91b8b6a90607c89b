/**
 * Files that were being written when the hub was killed: what is not whole is cut off, the index is written, and what is
 * left is told as if it had been finished. One without a whole fragment goes. Of recordings that the server knows too
 * little of, files that were finished are told as well.
 */

import { type FileHandle, open, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { findBox } from "../../media/mp4/box.ts";
import { findIntact, findRandomAccess, type Intact } from "../../media/mp4/fragment-index.ts";
import type { RecordedSegment } from "../../schemas/hub.ts";
import type { Log } from "../log.ts";
import { explain } from "./disk.ts";
import { type Label, readLabel, SegmentFile } from "./segment-file.ts";
import type { RecordingMessage } from "./writer.ts";

export interface RepairOptions {
  /** Of all recordings. */
  readonly folder: string;
  /** It is being recorded now, and whole. */
  readonly isActive: (recording: string) => boolean;
  /** All of its files are told, and not just those that had to be repaired. */
  readonly isUntold: (recording: string) => boolean;
  readonly tell: (message: RecordingMessage) => void;
  readonly log: Log;
}

const FILE_NAME = /^(\d+)\.mp4$/;
const MOST_HEAD_BYTES = 65_536;
const TAIL_BYTES = 64;

/** Never rejects: what cannot be repaired is logged and left. */
export async function repairRecordings({ folder, isActive, isUntold, tell, log }: RepairOptions): Promise<void> {
  for (const recording of await list(folder)) {
    if (isActive(recording)) continue;
    let last: RecordedSegment | null = null;
    for (const name of await list(join(folder, recording))) {
      const index = FILE_NAME.exec(name)?.[1];
      if (index === undefined) continue;
      try {
        const found = await repairFile(join(folder, recording, name), isUntold(recording));
        if (found === null) continue;
        last = { recording, index: Number(index), ...found };
        tell({ type: "segment", segment: last });
      } catch (error) {
        log("warn", "a recording could not be repaired", { recording, index: Number(index), detail: explain(error) });
      }
    }
    await rmdir(join(folder, recording)).catch(() => {});
    if (last === null) continue;
    const stoppedAtMs = last.startedAtMs + last.durationMs;
    tell({ type: "recorded", recording, stoppedAtMs, detail: "the media server was restarted" });
  }
}

/** Null: there is nothing to be done or told, or nothing left. */
async function repairFile(
  name: string,
  isUntold: boolean,
): Promise<Omit<RecordedSegment, "recording" | "index"> | null> {
  const file = await open(name, "r+");
  let isOurs = true;
  try {
    const { size } = await file.stat();
    const tail = await readAt(file, Math.max(size - TAIL_BYTES, 0), TAIL_BYTES);
    const isFinished = findRandomAccess(tail, size) !== null;
    if (isFinished && !isUntold) return null;
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

/** Everything before the first fragment. Null where it is not one of ours. */
async function readHead(file: FileHandle, { fragments }: Intact): Promise<{ label: Label; bytes: Buffer } | null> {
  const length = fragments[0]?.offset ?? 0;
  if (length === 0 || length > MOST_HEAD_BYTES) return null;
  const bytes = await readAt(file, 0, length);
  const content = findBox(bytes, "uuid");
  const label = content === null ? null : readLabel(content);
  return label === null ? null : { label, bytes };
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, at);
  return buffer.subarray(0, bytesRead);
}

const byNumber = new Intl.Collator("en", { numeric: true }).compare;

const list = async (folder: string): Promise<string[]> => (await readdir(folder).catch(() => [])).toSorted(byNumber);
