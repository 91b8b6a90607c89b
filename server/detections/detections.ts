/**
 * Stored detections: the messages of every process, in files that are kept and removed like recordings. They are written
 * while the process runs, and read by capture time. `docs/stored-detections.md` describes the files.
 */
import type { Logger } from "pino";
import { CAMERA_CHANNEL, type CameraMessage } from "../../schemas/camera-message.ts";
import type { Config } from "../../schemas/config.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { Semaphore } from "../async/semaphore.ts";
import { withTimeout } from "../async/timing.ts";
import type { Pieces } from "../files/file-store.ts";
import {
  type ProcessRecording,
  ProcessRecordings,
  readTimes,
  type SharedRecordings,
} from "../media/recordings/recording-files.ts";
import type { Process } from "../processes/process.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { type FileRow, findHolder, findOutside, saveFileTimes } from "../store/files.ts";
import type { ProcessRow } from "../store/processes.ts";
import { type DetectionNumbers, DetectionWriter, type WriterLimits } from "./detection-writer.ts";
import type { TimeSpan } from "./gzip-parts.ts";
import {
  LocalFile,
  type MessageRange,
  overlaps,
  type PartFile,
  readCameras,
  readFileSpan,
  readMessages,
  StoredFile,
} from "./read-file.ts";

export interface DetectionsDeps {
  readonly config: Pick<Config, "data_dir" | "recordings">;
  readonly log: Logger;
  /** Of this node. */
  readonly nodeUuid: string;
  /** Null: files stay in the data folder. */
  readonly shared: SharedRecordings | null;
  /** The disk has space for recordings. */
  hasSpace(): boolean;
  /** Set in tests. */
  readonly limits?: Partial<WriterLimits>;
}

const CHANNEL = "detection_data";
/** Of all processes. */
const OPEN_FILES = 4;
/** For what is being written when the server stops. */
const CLOSE_MS = 5_000;
/** How long a reader waits for messages that are not written yet; then it reads without them. */
const FLUSH_MS = 2_000;

export class StoredDetections {
  readonly #deps: DetectionsDeps;
  readonly #files: ProcessRecordings;
  readonly #writers = new Map<string, DetectionWriter>();
  readonly #slots = new Semaphore(OPEN_FILES);
  readonly #endings = new Set<Promise<void>>();
  /** Of completed files on disk, by path, so that they need not be opened again to be skipped. */
  readonly #spans = new Map<string, TimeSpan>();
  readonly numbers: Readonly<DetectionNumbers>;

  constructor(deps: DetectionsDeps) {
    this.#deps = deps;
    this.#files = new ProcessRecordings(deps.config.data_dir, deps.shared, "detections");
    this.numbers = { written: 0, lost: 0, bytes: 0 };
  }

  follow(process: Pick<Process, "row" | "follow" | "videoStartMs">): void {
    const { config, log, hasSpace, limits } = this.#deps;
    if (!config.recordings.enabled) return;
    const { uuid } = process.row;
    const writer = new DetectionWriter({
      ...{ processUuid: uuid, log: log.child({ process: uuid }), isAllowed: hasSpace, slots: this.#slots },
      segmentMs: config.recordings.segment_seconds * 1000,
      nextFile: (processUuid) => this.#files.nextFile(processUuid),
      videoStartMs: () => process.videoStartMs,
      numbers: this.numbers,
      ...(limits !== undefined && { limits }),
    });
    this.#writers.set(uuid, writer);
    process.follow((notice) => {
      if (notice.type === "message" && notice.channel === CHANNEL) writer.add(notice.message as DetectionMessage);
      else if (notice.type === "message" && notice.channel === CAMERA_CHANNEL)
        writer.addCamera(notice.message as CameraMessage);
      // The messages of each runner are in files of their own.
      else if (notice.type === "restarting") writer.endFile();
      else if (notice.type === "ended") this.#end(uuid, writer);
    });
  }

  /** Resolves when everything so far is stored. */
  async flush(): Promise<void> {
    await Promise.all([...this.#endings, ...[...this.#writers.values()].map((writer) => writer.flush())]);
  }

  /** After the processes have ended. */
  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, this.flush());
  }

  /** The messages of a process, by capture time, oldest file first. Rejects with `storage_unavailable`. */
  read(processUuid: string, range: MessageRange): AsyncGenerator<DetectionMessage, void, undefined> {
    return this.#read(processUuid, range, readMessages);
  }

  /** Where its camera was, in the same way. */
  readCameras(processUuid: string, range: MessageRange): AsyncGenerator<CameraMessage, void, undefined> {
    return this.#read(processUuid, range, readCameras);
  }

  async *#read<T>(processUuid: string, range: MessageRange, reader: Reader<T>): AsyncGenerator<T, void, undefined> {
    await withTimeout(FLUSH_MS, this.#flushOne(processUuid));
    for (const file of await this.#list(processUuid, range)) {
      const known = this.#spans.get(file.path);
      if (known !== undefined && !overlaps(known, range)) continue;
      yield* this.#readFile(processUuid, file, range, reader);
    }
  }

  /** Another node that has messages of an ended process which this one does not have; without a bucket: its last node. */
  async findHolder({ uuid, nodeUuid }: Pick<ProcessRow, "uuid" | "nodeUuid">): Promise<string | null> {
    const { shared, nodeUuid: own } = this.#deps;
    if (shared !== null) return findHolder(shared.sql, "detections", uuid, own);
    return nodeUuid === own || (await this.#files.list(uuid)).length > 0 ? null : nodeUuid;
  }

  /**
   * As `read`, with what other nodes have on their disks: without a bucket, the last node of the process is asked if there is
   * nothing here. `ask` rejects when it cannot be reached.
   */
  async *readAnywhere(
    process: Pick<ProcessRow, "uuid" | "nodeUuid">,
    range: MessageRange,
    ask: (nodeUuid: string) => AsyncIterable<DetectionMessage>,
  ): AsyncGenerator<DetectionMessage, void, undefined> {
    const { shared, nodeUuid: own } = this.#deps;
    const holder = shared === null ? null : await findHolder(shared.sql, "detections", process.uuid, own);
    if (holder !== null) return yield* ask(holder);
    let isHere = false;
    for await (const message of this.read(process.uuid, range)) {
      isHere = true;
      yield message;
    }
    const { nodeUuid: last } = process;
    if (!isHere && shared === null && last !== null && last !== own) yield* ask(last);
  }

  #end(uuid: string, writer: DetectionWriter): void {
    if (this.#writers.get(uuid) === writer) this.#writers.delete(uuid);
    writer.endFile();
    const ending = writer.flush();
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  async #flushOne(uuid: string): Promise<void> {
    // One that has just ended is among the endings.
    await Promise.all([this.#writers.get(uuid)?.flush(), ...this.#endings]);
  }

  #keepSpan(path: string, span: TimeSpan): void {
    this.#spans.set(path, span);
    const [oldest] = this.#spans.keys();
    if (this.#spans.size > MAX_SPANS && oldest !== undefined) this.#spans.delete(oldest);
  }

  /** Without files in the bucket that have nothing in the range. */
  async #list(processUuid: string, { fromMs, toMs }: MessageRange): Promise<readonly ProcessRecording[]> {
    const { shared } = this.#deps;
    const files = await this.#files.list(processUuid);
    if (shared === null) return files;
    const toDate = (ms: number): Date | null => (Math.abs(ms) < MAX_DATE_MS ? new Date(ms) : null);
    const stored = files.filter(({ read }) => read !== undefined).map(({ path }) => path);
    const outside = await findOutside(shared.sql, stored, { from: toDate(fromMs), to: toDate(toMs) });
    return files.filter(({ path }) => !outside.has(path));
  }

  async *#readFile<T>(
    processUuid: string,
    { index, path, read, sizeBytes }: ProcessRecording,
    range: MessageRange,
    reader: Reader<T>,
  ): AsyncGenerator<T, void, undefined> {
    const onDamaged = (error: Error): void =>
      this.#deps.log.warn({ err: error, path }, "stored detections are damaged; the rest is read");
    if (read !== undefined) {
      const file = new StoredFile(sizeBytes, (part) => read(part).catch(asRemoved));
      return yield* reader(file, { range, onDamaged });
    }
    const file = await LocalFile.open(path).catch(() => null);
    if (file === null) {
      // Moved to the bucket, or removed, since it was listed.
      const moved = await this.#files.find(processUuid, index);
      if (moved?.read !== undefined) yield* this.#readFile(processUuid, moved, range, reader);
      return;
    }
    try {
      const span = await readFileSpan(file);
      if (span !== null) this.#keepSpan(path, span);
      yield* reader(file, { range, onDamaged });
    } finally {
      await file.close();
    }
  }
}

/** Of one file. */
type Reader<T> = (
  file: PartFile,
  options: { readonly range: MessageRange; onDamaged(error: Error): void },
) => AsyncGenerator<T, void, undefined>;

/** About 100 bytes each. */
const MAX_SPANS = 20_000;

/** A file that has just been removed has no messages. */
function asRemoved(error: unknown): Pieces {
  if (error instanceof ServiceError && error.code === "recording_not_found") return NO_PIECES();
  throw error;
}

async function* NO_PIECES(): Pieces {}

/** Of PostgreSQL, within what JavaScript can express. */
const MAX_DATE_MS = Date.UTC(9999, 0);

/** Before a file is moved to the bucket: then it is found by its times. */
export async function saveTimes(sql: Sql, { kind, key }: FileRow, path: string): Promise<void> {
  if (kind === "process-recording") {
    const { startedAt, durationMs } = (await readTimes(path)) ?? { startedAt: null, durationMs: null };
    if (startedAt !== null && durationMs !== null)
      await saveFileTimes(sql, key, startedAt, new Date(startedAt.getTime() + durationMs));
    return;
  }
  const file = await LocalFile.open(path);
  try {
    const span = await readFileSpan(file);
    if (span !== null) await saveFileTimes(sql, key, new Date(span.firstMs), new Date(span.lastMs));
  } finally {
    await file.close();
  }
}
