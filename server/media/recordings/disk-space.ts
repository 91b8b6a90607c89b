/** Removes recordings before the disk is full, oldest first. When none are left, recording stops. */
import type { Logger } from "pino";
import type { Sql } from "../../store/client.ts";
import { findProcessOwners } from "../../store/processes.ts";
import { findOldestSegment, readRecordedBytes, removeSegment } from "../../store/recordings.ts";
import { type FoundFile, listFiles, type RecordingFolder, removeFile } from "./recording-files.ts";

interface DiskGuardDeps {
  readonly reserveBytes: number;
  readonly log: Logger;
  freeBytes(): Promise<number>;
  /** Resolves with the bytes that this should free. Null: nothing is left to remove. */
  removeOldest(): Promise<number | null>;
  onAllowed(isAllowed: boolean): void;
  now?(): number;
}

/** Frees a little more than the reserve, so that it does not have to be repeated a moment later. */
const MARGIN = 1.1;
/** Per check. */
const MAX_REMOVED = 200;
/** File systems free space with a delay, at the latest when the last download of the file ends. Until then it counts as free. */
const FREED_MS = 15_000;

interface PendingSpace {
  readonly bytes: number;
  readonly untilMs: number;
}

const sum = (pending: readonly PendingSpace[]): number => pending.reduce((total, { bytes }) => total + bytes, 0);

export class DiskGuard {
  readonly #deps: DiskGuardDeps;
  readonly #now: () => number;
  #isAllowed = true;
  /** Removed, but not free yet, oldest first. */
  #pending: readonly PendingSpace[] = [];
  /** At the last check: free space beyond that has become free since. */
  #lastFree = 0;

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  get isAllowed(): boolean {
    return this.#isAllowed;
  }

  get trouble(): string | null {
    if (this.#isAllowed) return null;
    return `the disk is nearly full and no recording is left to remove: recording resumes when ${mebibytes(this.#deps.reserveBytes * MARGIN)} are free`;
  }

  async check(): Promise<void> {
    const { reserveBytes, freeBytes } = this.#deps;
    const free = await freeBytes();
    this.#settle(free);
    const expected = free + sum(this.#pending);
    const room = expected < reserveBytes ? await this.#makeRoom(free, expected) : expected;
    if (this.#isAllowed && room < reserveBytes) this.#allow(false, free);
    else if (!this.#isAllowed && free >= reserveBytes * MARGIN) this.#allow(true, free);
  }

  /** Only the rest stays pending: data that others write meanwhile must count. */
  #settle(free: number): void {
    let returned = Math.max(0, free - this.#lastFree);
    this.#lastFree = free;
    this.#pending = this.#pending.flatMap(({ bytes, untilMs }) => {
      const left = Math.max(0, bytes - returned);
      returned -= bytes - left;
      return left > 0 && this.#now() < untilMs ? [{ bytes: left, untilMs }] : [];
    });
  }

  /** Resolves with the expected free space. */
  async #makeRoom(before: number, expected: number): Promise<number> {
    const { reserveBytes, freeBytes, removeOldest, log } = this.#deps;
    let room = expected;
    let promised = expected;
    let free = before;
    let removed = 0;
    while (room < reserveBytes * MARGIN && removed < MAX_REMOVED) {
      const bytes = await removeOldest();
      if (bytes === null) break;
      removed++;
      promised += bytes;
      free = await freeBytes();
      room = Math.max(free, promised);
    }
    if (removed === 0) return room;
    this.#settle(free);
    const bytes = promised - free - sum(this.#pending);
    if (bytes > 0) this.#pending = [...this.#pending, { bytes, untilMs: this.#now() + FREED_MS }];
    log.warn({ removed, before, expected: room }, "oldest recordings removed: the disk is nearly full");
    return room;
  }

  #allow(isAllowed: boolean, free: number): void {
    this.#isAllowed = isAllowed;
    if (isAllowed) this.#deps.log.info({ free }, "recording resumed: disk space is available");
    else this.#deps.log.error({ free }, "recording stopped: the disk is nearly full");
    this.#deps.onAllowed(isAllowed);
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;

interface OldestDeps {
  readonly sql: Sql;
  readonly nodeUuid: string;
  readonly folder: RecordingFolder;
  /** `<folder>/<process>/<file>`. */
  readonly otherFolders: readonly string[];
}

/** A file modified since is still being written. */
const WRITTEN_MS = 60_000;
/** Owner of files of unknown processes. */
const NO_OWNER = "";

/**
 * Removes the oldest recording on this machine of the user with the most, so that one user who fills the disk costs no
 * other a recording. Resolves with its size; null: all that is left is being written.
 * @param aboveBytes only of users that have more than this
 */
export async function removeOldest(deps: OldestDeps, aboveBytes = 0): Promise<number | null> {
  const { sql, nodeUuid, otherFolders } = deps;
  const [segmentBytes, found] = await Promise.all([
    readRecordedBytes(sql, nodeUuid),
    Promise.all(otherFolders.map((folder) => listFiles(folder))),
  ]);
  const files = found.flat();
  const owners = await findProcessOwners(sql, [...new Set(files.map(({ folder }) => folder))]);
  const ownerOf = ({ folder }: FoundFile): string => owners.get(folder) ?? NO_OWNER;
  const totals = new Map(segmentBytes);
  for (const file of files) totals.set(ownerOf(file), (totals.get(ownerOf(file)) ?? 0) + file.sizeBytes);
  const heaviestFirst = [...totals].filter(([, bytes]) => bytes > aboveBytes).sort(([, a], [, b]) => b - a);
  for (const [owner] of heaviestFirst) {
    const own = files.filter((file) => ownerOf(file) === owner);
    const removed = await removeOldestOf(owner, own, deps);
    if (removed !== null) return removed;
  }
  return null;
}

async function removeOldestOf(
  owner: string,
  files: readonly FoundFile[],
  { sql, nodeUuid, folder }: OldestDeps,
): Promise<number | null> {
  const beforeMs = Date.now() - WRITTEN_MS;
  const [file] = files.filter(({ modifiedMs }) => modifiedMs < beforeMs).sort((a, b) => a.modifiedMs - b.modifiedMs);
  const segment = owner === NO_OWNER ? null : await findOldestSegment(sql, nodeUuid, owner);
  if (file !== undefined && (segment === null || file.modifiedMs < segment.endedAt.getTime())) {
    await removeFile(file.path);
    return file.sizeBytes;
  }
  if (segment === null) return null;
  // The row first: the next start finds a file without a row.
  await removeSegment(sql, segment);
  await folder.removeSegment(segment.recordingUuid, segment.index);
  return segment.sizeBytes;
}
