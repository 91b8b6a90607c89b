/** Clips that are rendered on request: a limited number at once, by any node, again after a restart. */
import { mkdir, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { MAX_AWAITED_SECONDS } from "../../schemas/api/clips.ts";
import type { Config } from "../../schemas/config.ts";
import { Poller } from "../async/poller.ts";
import { makePrivateFolder } from "../data-folder.ts";
import type { SharedFiles } from "../files/open-files.ts";
import { ElsewhereError, type SegmentFile } from "../media/recordings/recordings.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  type ClipRow,
  claimClip,
  deleteClip,
  endClip,
  findClip,
  findDrawnProcess,
  findKnownClips,
  forgetClips,
  insertClip,
  listLocalClips,
  type NewClipRow,
  removeOldClips,
  renewClips,
  requeueClip,
} from "../store/clips.ts";
import { NODE_LEASE } from "../store/nodes.ts";
import { findSource } from "../store/sources.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { type RenderDeps, renderClip } from "./render-clip.ts";
import type { SourceRange } from "./source-video.ts";
import { clipsFolder, type WorkFolders } from "./work-folder.ts";

export const LIMITS = {
  /** Renderers of this node, and how many of them render long clips: a client may wait for a short one. */
  atOnce: 2,
  longAtOnce: 1,
  /** Clips of one user. */
  perUser: { active: 8, total: 1000 },
  /** Renderers that may crash over one clip. */
  crashes: 3,
  /** Interval for finding cancelled clips while some are rendered. */
  pollMs: 1_000,
  sweepMs: 600_000,
};

export interface ClipJobsDeps extends RenderDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "data_dir" | "evidence" | "recordings">;
  readonly nodeUuid: string;
  /** There are no other nodes. */
  readonly isAlone: boolean;
  readonly folders: WorkFolders;
  /** Null: files stay in the data folder. */
  readonly files: SharedFiles | null;
  readonly log: Logger;
}

export interface ClipOrder {
  readonly sourceUuid: string;
  readonly range: SourceRange;
  readonly boxes: boolean;
  readonly processUuid: string | null;
}

interface Held {
  readonly clip: ClipRow;
  readonly leaving: AbortController;
  readonly done: Promise<void>;
  progress: number;
}

export class ClipJobs {
  readonly #deps: ClipJobsDeps;
  readonly #held = new Map<string, Held>();
  readonly #polling = new Poller(() => this.#poll());
  #isClosing = false;
  #claiming: Promise<void> = Promise.resolve();
  #renewedMs = 0;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ClipJobsDeps) {
    this.#deps = deps;
    this.#polling.start(0);
  }

  /** Rejects with `source_not_found`, `process_not_found`, `clips_limit_reached` or `disk_full`. `isShared`: an equal one is returned. */
  async add(user: Pick<User, "uuid">, order: ClipOrder, isShared = false): Promise<ClipRow> {
    const { sql } = this.#deps;
    const { sourceUuid, range, boxes } = order;
    if (this.#isClosing) throw new ServiceError("shutting_down", { detail: "the service is shutting down" });
    const { alias, loop } = await findSource(sql, user.uuid, sourceUuid);
    if (boxes && range.isFile && loop)
      throw invalidInput([
        {
          path: "boxes",
          message: "is true; expected false, as detections of a looped video belong to no time of the video",
        },
      ]);
    const { fromMs, toMs, isFile } = range;
    const asked = { userUuid: user.uuid, sourceUuid, fromMs, toMs, isFile };
    const drawn = boxes ? await findDrawnProcess(sql, asked, order.processUuid) : null;
    if (boxes && drawn === null)
      throw new ServiceError("process_not_found", {
        detail: `no process of yours has analysed the source ${sourceUuid} at this time; GET /processes lists yours, and without \`boxes\` none is needed`,
      });
    await this.#expectRoom(range);
    const clip: NewClipRow = {
      ...{ uuid: newUuid(), ...asked, alias, processUuid: drawn?.uuid ?? null },
      baseMs: isFile ? (drawn?.startedAt.getTime() ?? 0) : 0,
    };
    const row = await insertClip(sql, clip, LIMITS.perUser, isShared);
    void this.#claim();
    return row;
  }

  /** Cancels or removes it. */
  async remove(user: Pick<User, "uuid">, uuid: string): Promise<void> {
    await deleteClip(this.#deps.sql, user.uuid, uuid);
    this.#held.get(uuid)?.leaving.abort();
    await rm(this.#folderOf(uuid), { recursive: true, force: true });
  }

  /** Resolves when it is ready or has failed, or the time is over, with its row. */
  async awaitEnd(user: Pick<User, "uuid">, uuid: string, limitMs: number, signal: AbortSignal): Promise<ClipRow> {
    const deadlineMs = performance.now() + limitMs;
    for (;;) {
      const row = await findClip(this.#deps.sql, user.uuid, uuid);
      const isActive = row.state === "queued" || row.state === "rendering";
      if (!isActive || performance.now() >= deadlineMs || signal.aborted) return row;
      const held = this.#held.get(uuid);
      await Promise.race([held?.done, new Promise((resolve) => setTimeout(resolve, held === undefined ? 200 : 1_000))]);
    }
  }

  /** The file of a clip that is ready. Rejects with `clip_not_ready`, `clip_failed` or `clip_not_found`. */
  async find(clip: ClipRow): Promise<SegmentFile> {
    const { files, nodeUuid } = this.#deps;
    const { uuid, state, alias, sizeBytes } = clip;
    if (state === "failed") throw new ServiceError("clip_failed", { detail: clip.error ?? "it could not be rendered" });
    if (state !== "ready")
      throw new ServiceError("clip_not_ready", {
        ...{ detail: `the clip ${uuid} is ${state}; GET /clip/${uuid} shows its progress`, retryAfterSeconds: 2 },
      });
    const path = this.#pathOf(uuid);
    const found = { alias, path, sizeBytes: sizeBytes ?? 0, startedAt: new Date(clip.fromMs) };
    if (await stat(path).catch(() => null)) return found;
    const stored = (await files?.find("clip", uuid)) ?? null;
    if (files !== null && stored !== null) return { ...found, read: (range) => files.read(stored.key, range) };
    if (clip.nodeUuid !== null && clip.nodeUuid !== nodeUuid) throw new ElsewhereError(clip.nodeUuid);
    throw new ServiceError("clip_not_found", { detail: `the file of the clip ${uuid} was removed to make room` });
  }

  /** Of its renderer, for tests. */
  get heldUuids(): readonly string[] {
    return [...this.#held.keys()];
  }

  /** Resolves when all children have ended and the next server can continue. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#polling.close();
    await this.#claiming;
    const held = [...this.#held.values()];
    for (const { leaving } of held) leaving.abort();
    await Promise.all(held.map(({ done }) => done));
    await Promise.allSettled(held.map(({ clip }) => requeueClip(this.#deps.sql, clip, null)));
  }

  /** Removes what is too old, and files without clips. */
  async sweep(): Promise<void> {
    const { sql, config, nodeUuid, log } = this.#deps;
    const before = new Date(Date.now() - config.evidence.retention_days * 86_400_000);
    const removed = await removeOldClips(sql, before);
    if (removed > 0) log.info({ removed }, "old clips removed");
    const folder = clipsFolder(config.data_dir);
    const names = await readdir(folder).catch((): string[] => []);
    const known = await findKnownClips(
      sql,
      names.filter((name) => UUID.test(name)),
    );
    for (const name of names)
      if (!known.has(name) && !this.#held.has(name)) await rm(join(folder, name), { recursive: true, force: true });
    // Their files were removed to make room.
    const local = await listLocalClips(sql, nodeUuid);
    const lost = local.filter((uuid) => !names.includes(uuid));
    const stillLost: string[] = [];
    for (const uuid of lost) if ((await stat(this.#pathOf(uuid)).catch(() => null)) === null) stillLost.push(uuid);
    await forgetClips(sql, stillLost);
  }

  async #poll(): Promise<number> {
    try {
      const nowMs = performance.now();
      const isDue = nowMs - this.#renewedMs >= NODE_LEASE.renewMs || this.#held.size > 0;
      if (isDue) await this.#renew();
      if (isDue) this.#renewedMs = nowMs;
      await this.#claim();
      if (nowMs - this.#sweptMs >= LIMITS.sweepMs) {
        await this.sweep();
        this.#sweptMs = nowMs;
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, "clips could not be renewed; retrying");
      return NODE_LEASE.renewMs;
    }
    // A node claims what it queues at once, and what others leave a moment later.
    return this.#held.size === 0 ? NODE_LEASE.idleMs : LIMITS.pollMs;
  }

  async #renew(): Promise<void> {
    const held = [...this.#held.values()];
    if (held.length === 0) return;
    const jobs = held.map(({ clip: { uuid, fence }, progress }) => ({ uuid, fence, progress }));
    const owned = new Set((await renewClips(this.#deps.sql, NODE_LEASE.leaseSeconds, jobs)).map(({ uuid }) => uuid));
    for (const { clip, leaving } of held) if (!owned.has(clip.uuid)) leaving.abort();
  }

  /** One at a time. Never rejects. */
  #claim(): Promise<void> {
    this.#claiming = this.#claiming
      .then(() => this.#claimNext())
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, "clips could not be claimed; retrying");
      });
    return this.#claiming;
  }

  async #claimNext(): Promise<void> {
    const { sql, nodeUuid, isAlone } = this.#deps;
    while (!this.#isClosing && this.#held.size < LIMITS.atOnce) {
      const long = [...this.#held.values()].filter(({ clip }) => clip.toMs - clip.fromMs > SHORT_MS).length;
      const maxMs = long < LIMITS.longAtOnce ? null : SHORT_MS;
      const clip = await claimClip(sql, nodeUuid, NODE_LEASE.leaseSeconds, { isAlone, maxMs });
      if (clip === null) return;
      // One whose lease was lost and claimed again.
      const before = this.#held.get(clip.uuid);
      before?.leaving.abort();
      await before?.done;
      this.#hold(clip);
    }
  }

  #hold(clip: ClipRow): void {
    const leaving = new AbortController();
    const done = Promise.resolve()
      .then(() => this.#run(clip, leaving.signal))
      .finally(() => {
        this.#held.delete(clip.uuid);
        if (!this.#isClosing) void this.#claim();
      });
    this.#held.set(clip.uuid, { clip, leaving, done, progress: 0 });
  }

  /** Never rejects. */
  async #run(clip: ClipRow, signal: AbortSignal): Promise<void> {
    const { sql, log, folders } = this.#deps;
    const { uuid } = clip;
    try {
      if (clip.crashes > LIMITS.crashes)
        throw new Error(`the server ended ${clip.crashes} times while it was rendered`);
      await this.#expectRoom(clip);
      const folder = await folders.make();
      try {
        const onProgress = (part: number): void => {
          const held = this.#held.get(uuid);
          if (held !== undefined) held.progress = part;
        };
        await this.#keep(clip, await renderClip(this.#deps, { clip, folder, signal, onProgress }));
      } finally {
        await folder.remove();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ElsewhereError) return requeueClip(sql, clip, error.nodeUuid).catch(() => {});
      log.warn({ err: error, clip: uuid }, "clip could not be rendered");
      await endClip(sql, clip, { error: explain(error) }).catch(() => {}); // claimed again when its lease has ended
    }
  }

  async #keep(clip: ClipRow, rendered: string): Promise<void> {
    const { sql, files, nodeUuid, config } = this.#deps;
    const { uuid, userUuid, fence } = clip;
    const { size } = await stat(rendered);
    if (size === 0) throw new Error("there is no video in this range");
    if (files === null) {
      await makePrivateFolder(clipsFolder(config.data_dir));
      await mkdir(this.#folderOf(uuid), { recursive: true, mode: 0o700 });
      await rename(rendered, this.#pathOf(uuid));
    } else {
      const file = { key: `clips/${uuid}/${fence}.mp4`, kind: "clip" as const, ownerUuid: uuid, index: 0 };
      await files.putKnown({ ...file, userUuid, nodeUuid }, rendered, new Date());
    }
    if (await endClip(sql, clip, { sizeBytes: size })) return;
    // It was deleted meanwhile.
    await rm(this.#folderOf(uuid), { recursive: true, force: true });
  }

  /** Rejects with `disk_full`. */
  async #expectRoom({ fromMs, toMs }: Pick<ClipRow, "fromMs" | "toMs">): Promise<void> {
    const { data_dir, recordings } = this.#deps.config;
    const { bavail, bsize } = await statfs(data_dir);
    const needed = ((toMs - fromMs) / 1000) * BYTES_PER_SECOND;
    if (bavail * bsize >= recordings.reserve_bytes + needed) return;
    throw new ServiceError("disk_full", { detail: "no disk space left for clips; contact the operator" });
  }

  #folderOf(uuid: string): string {
    return join(clipsFolder(this.#deps.config.data_dir), uuid);
  }

  #pathOf(uuid: string): string {
    return join(this.#folderOf(uuid), "0.mp4");
  }
}

const SHORT_MS = MAX_AWAITED_SECONDS * 1000;
/** Of a rendered clip, twice: its frames are written again behind their index. */
const BYTES_PER_SECOND = 2 * 1_000_000;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** For clients: without paths of this machine. */
function explain(error: unknown): string {
  if (error instanceof ServiceError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC") return "the disk is full; contact the operator";
  return code === undefined && error instanceof Error
    ? error.message
    : "an internal error; the log of the server has the reason";
}
