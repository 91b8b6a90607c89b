/**
 * One file of a recording: init segment and label, fragments with one write each, and a random access index at the end. The
 * file is playable up to its last whole fragment at any moment.
 */

import { type FileHandle, open, rm } from "node:fs/promises";
import type { Tracks } from "../../media/access-unit.ts";
import { writeBox } from "../../media/mp4/box.ts";
import { type Intact, type IntactFragment, spanOf, writeRandomAccess } from "../../media/mp4/fragment-index.ts";
import type { Fragment } from "../../media/mp4/fragmenter.ts";
import { patchDuration, writeInitSegment } from "../../media/mp4/init-segment.ts";

/** Identifies the file after a crash. */
export interface Label {
  readonly path: string;
  readonly startedAtMs: number;
}

/** Type of the box with the label. */
const LABEL_UUID = Buffer.from("d8b1d7d24f2c4a3b9c16a7e1f3b05c42", "hex");

export class SegmentFile {
  /** Written so far. */
  bytes: number;
  readonly #file: FileHandle;
  readonly #head: Buffer;
  /** Those that start with a keyframe, and the newest. */
  readonly #fragments: IntactFragment[] = [];
  #endUs = 0;

  private constructor(file: FileHandle, head: Buffer, { bytes, fragments }: Pick<Intact, "bytes" | "fragments">) {
    this.#file = file;
    this.#head = head;
    this.bytes = bytes;
    for (const fragment of fragments) this.#remember(fragment);
  }

  /** Rejects if the file exists. Removes the file if it cannot be written. */
  static async create(name: string, tracks: Tracks, label: Label, first: Fragment): Promise<SegmentFile> {
    const head = Buffer.concat([writeInitSegment(tracks), writeLabel(label)]);
    const file = await open(name, "wx");
    const segment = new SegmentFile(file, head, { bytes: 0, fragments: [] });
    try {
      await segment.#write(Buffer.concat([head, first.data]));
    } catch (error) {
      await file.close();
      await rm(name, { force: true });
      throw error;
    }
    segment.#rememberWritten(first);
    return segment;
  }

  /** Continues a file that its writer did not finish, truncated to its intact part. */
  static resume(file: FileHandle, head: Buffer, intact: Intact): SegmentFile {
    return new SegmentFile(file, head, intact);
  }

  get durationMs(): number {
    return spanOf(this.#fragments) / 1000;
  }

  /** If it rejects, the file is unchanged. */
  async append(fragment: Fragment): Promise<void> {
    await this.#undoOnError(() => this.#write(fragment.data));
    this.#rememberWritten(fragment);
  }

  /** Closes the file in any case. */
  async finish(): Promise<void> {
    try {
      await this.#undoOnError(async () => {
        for (const { at, bytes } of patchDuration(this.#head, this.#endUs / 1000)) {
          await this.#file.write(bytes, 0, bytes.length, at);
        }
        await this.#write(writeRandomAccess(this.#fragments));
        await this.#file.datasync();
      });
    } finally {
      await this.#file.close();
    }
  }

  async #undoOnError(work: () => Promise<void>): Promise<void> {
    const before = this.bytes;
    try {
      await work();
    } catch (error) {
      this.bytes = before;
      await this.#file.truncate(before).catch(() => {});
      throw error;
    }
  }

  #rememberWritten({ data, eventBytes, ...times }: Fragment): void {
    const bytes = data.length - eventBytes;
    this.#remember({ ...times, offset: this.bytes - bytes, bytes });
  }

  #remember(fragment: IntactFragment): void {
    this.#endUs = Math.max(this.#endUs, fragment.endUs);
    // Audio alone does not count for the duration.
    if (fragment.pictures === 0) return;
    if (this.#fragments.at(-1)?.isKey === false) this.#fragments.pop();
    this.#fragments.push(fragment);
  }

  /** One system call, except on a full disk, which accepts a part and then fails. */
  async #write(data: Buffer): Promise<void> {
    let at = 0;
    while (at < data.length) {
      const { bytesWritten } = await this.#file.write(data, at, data.length - at, this.bytes);
      at += bytesWritten;
      this.bytes += bytesWritten;
    }
  }
}

const writeLabel = (label: Label): Buffer => writeBox("uuid", LABEL_UUID, Buffer.from(JSON.stringify(label)));

/** Reads the content of a `uuid` box. Null unless it is a label. */
export function readLabel(content: Buffer): Label | null {
  if (!content.subarray(0, 16).equals(LABEL_UUID)) return null;
  try {
    const { path, startedAtMs } = JSON.parse(content.toString("utf8", 16));
    return typeof path === "string" && typeof startedAtMs === "number" ? { path, startedAtMs } : null;
  } catch {
    return null;
  }
}
