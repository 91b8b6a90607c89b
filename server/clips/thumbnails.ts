/**
 * Single frames of videos. A child process decodes them; it serves one user only, so that what a damaged video does to it
 * stays with that user, and ends when it has been idle.
 */
import type { Logger } from "pino";
import { Type } from "typebox";
import { NoReply, RequestRejected } from "../../ipc/channel.ts";
import { Child } from "../../ipc/child.ts";
import { THUMBNAIL_PROTOCOL, type Thumbnail, type ThumbnailRequest } from "../../schemas/thumbnails.ts";
import { ByteCache } from "../async/byte-cache.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { sleep } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { ServiceError } from "../service-error.ts";
import type { WorkFolder, WorkFolders } from "./work-folder.ts";

export const LIMITS = {
  /** Children of this node. */
  workers: 4,
  /** Requests of one user that wait or are decoded. */
  pending: 16,
  loadMs: 30_000,
  decodeMs: 12_000,
  idleMs: 60_000,
  /** For a decoder, while all are in use by others. */
  waitMs: 5_000,
  lookMs: 50,
  /** Of all pictures that are kept. */
  cacheBytes: 32 * 2 ** 20,
};

interface ThumbnailsDeps {
  readonly entry: URL;
  readonly confinement: Confinement;
  readonly folders: WorkFolders;
  readonly memoryBytes: number;
  readonly log: Logger;
}

export interface ThumbnailOrder {
  readonly userUuid: string;
  /** Of the same picture. */
  readonly key: string;
  readonly width: number;
  readonly signal: AbortSignal;
  /** Writes the video, or a part of it, into the folder of the child. */
  prepare(folder: WorkFolder): Promise<Pick<ThumbnailRequest, "path" | "atNs" | "isPart">>;
}

export class Thumbnails {
  readonly #deps: ThumbnailsDeps;
  /** By user, the least recently used first. */
  readonly #workers = new Map<string, Worker>();
  readonly #cache = new ByteCache(LIMITS.cacheBytes);
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(deps: ThumbnailsDeps) {
    this.#deps = deps;
  }

  /** Rejects with `rate_limited` or `clip_failed`, and as `prepare` does. */
  async take(order: ThumbnailOrder): Promise<Uint8Array> {
    const { userUuid } = order;
    const key = `${userUuid}/${order.key}/${order.width}`;
    const known = this.#cache.find(key);
    if (known !== null) return known;
    const worker = await this.#awaitWorker(userUuid, order.signal);
    const picture = await worker.take(order);
    this.#cache.add(key, picture);
    return picture;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const worker of this.#workers.values()) this.#end(worker);
    await Promise.all(this.#closing);
  }

  /** While all are in use by others, for a limited time. */
  async #awaitWorker(userUuid: string, signal: AbortSignal): Promise<Worker> {
    const deadlineMs = performance.now() + LIMITS.waitMs;
    for (;;) {
      const worker = this.#workerOf(userUuid);
      if (worker !== null) return worker;
      signal.throwIfAborted();
      if (performance.now() >= deadlineMs)
        throw new ServiceError("rate_limited", {
          ...{ detail: "all decoders of this node are in use; try again in a moment", retryAfterSeconds: 1 },
        });
      await sleep(LIMITS.lookMs, signal);
    }
  }

  /** Null: all are in use by others. */
  #workerOf(userUuid: string): Worker | null {
    if (this.#isClosed) throw new ServiceError("shutting_down", { detail: "the service is shutting down" });
    const known = this.#workers.get(userUuid);
    this.#workers.delete(userUuid);
    if (known !== undefined && !known.isGone) {
      this.#workers.set(userUuid, known);
      return known;
    }
    if (known !== undefined) this.#end(known);
    if (this.#workers.size >= LIMITS.workers) {
      const idle = [...this.#workers].find(([, worker]) => worker.pending === 0);
      if (idle === undefined) return null;
      this.#workers.delete(idle[0]);
      this.#end(idle[1]);
    }
    const worker = new Worker(this.#deps, () => {
      if (this.#workers.get(userUuid) === worker) this.#workers.delete(userUuid);
      this.#end(worker);
    });
    this.#workers.set(userUuid, worker);
    return worker;
  }

  #end(worker: Worker): void {
    const ended = worker.close().finally(() => this.#closing.delete(ended));
    this.#closing.add(ended);
  }
}

function expectThumbnail(reply: unknown): Thumbnail {
  if (typeof reply === "object" && reply !== null && "jpeg" in reply && typeof reply.jpeg === "string")
    return { jpeg: reply.jpeg };
  throw new NoReply("the decoder sent no picture");
}

const NAME = "the thumbnail decoder";

class Worker {
  pending = 0;
  readonly #deps: ThumbnailsDeps;
  readonly #queue = new SerialQueue();
  readonly #idle: NodeJS.Timeout;
  #open: Promise<{ readonly folder: WorkFolder; readonly child: Child<ThumbnailRequest, never> }> | null = null;
  #child: Child<ThumbnailRequest, never> | null = null;

  constructor(deps: ThumbnailsDeps, onIdle: () => void) {
    this.#deps = deps;
    this.#idle = setTimeout(() => (this.pending === 0 ? onIdle() : this.#idle.refresh()), LIMITS.idleMs).unref();
  }

  get isGone(): boolean {
    return this.#child?.isGone === true;
  }

  async take(order: ThumbnailOrder): Promise<Uint8Array> {
    if (this.pending >= LIMITS.pending)
      throw new ServiceError("rate_limited", {
        ...{ detail: `more than ${LIMITS.pending} pictures are being decoded for this key`, retryAfterSeconds: 1 },
      });
    this.pending += 1;
    try {
      return await this.#queue.run(() => this.#take(order));
    } finally {
      this.pending -= 1;
      this.#idle.refresh();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const opened = await this.#open?.catch(() => null);
    opened?.child.kill("it is not needed any longer");
    await opened?.child.gone;
    await opened?.folder.remove();
  }

  async #take({ prepare, width, signal }: ThumbnailOrder): Promise<Uint8Array> {
    // The client does not wait any longer: on a time line it asks for many, and wants the last one.
    signal.throwIfAborted();
    this.#open ??= this.#start();
    const { folder, child } = await this.#open.catch((cause: Error) => {
      throw new ServiceError("clip_failed", { detail: `${cause.message}; try again in a moment`, cause });
    });
    try {
      const request = { type: "thumbnail" as const, ...(await prepare(folder)), width };
      const { jpeg } = expectThumbnail(await child.request(request, LIMITS.decodeMs));
      return Buffer.from(jpeg, "base64");
    } catch (error) {
      if (error instanceof NoReply) child.kill(error.message);
      if (!(error instanceof NoReply || error instanceof RequestRejected)) throw error;
      throw new ServiceError("clip_failed", { detail: `no picture of this time: ${error.message}`, cause: error });
    } finally {
      await folder.clear();
    }
  }

  async #start() {
    const { entry, confinement, folders, memoryBytes, log } = this.#deps;
    const folder = await folders.make();
    const child = new Child<ThumbnailRequest, never>({
      ...{ name: NAME, protocol: THUMBNAIL_PROTOCOL, receives: Type.Never(), log, memoryBytes, loadMs: LIMITS.loadMs },
      spawn: () => confinement.spawn({ entry, memoryBytes, reads: [folder.path], hasChannel: true }),
    });
    this.#child = child;
    await child.loaded;
    return { folder, child };
  }
}
