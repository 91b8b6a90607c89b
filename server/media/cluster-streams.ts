/**
 * Published streams of all nodes. A path is published on one node: this one claims it in the database when it authorizes a
 * publisher, and gives it up when the stream has ended. What others publish is read when it is asked for, at most a second old.
 */
import type { Logger } from "pino";
import type { StreamInfo } from "../../schemas/hub.ts";
import { sweepEvery } from "../async/poller.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { ClusterNode } from "../cluster/node.ts";
import type { ClusterKey } from "../cluster/signature.ts";
import type { Sql } from "../store/client.ts";
import type { NodeRow } from "../store/nodes.ts";
import {
  claimStream,
  type ForeignStream,
  findOrigin,
  listForeignStreams,
  listOwnStreams,
  publishStream,
  releaseStreams,
  type StreamClaim,
} from "../store/streams.ts";

interface ClusterStreamsDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly node: ClusterNode;
  readonly key: ClusterKey;
  /** Disconnects the publisher of this path. */
  expel(path: string, reason: string): void;
  /** For tests. */
  readonly sweepMs?: number;
}

interface OwnStream extends StreamClaim {
  readonly claimedMs: number;
  /** Null: its first keyframe has not arrived. */
  readonly info: StreamInfo | null;
}

export interface NodeHosts {
  readonly hosts: readonly string[];
  readonly rtspPort: number | null;
}

/** Distinguishes tokens of other hubs from keys: a secret with this prefix is never looked up as a key. */
const RELAY_PREFIX = "relay_";
/** The hub disconnects a publisher without a keyframe before. */
const PENDING_MS = 45_000;
/** Clients of the hub are not kept waiting for longer. */
const DATABASE_MS = 2_000;
const MAX_ORIGINS = 1_000;
/** Interval for writing again what could not be written. */
const SWEEP_MS = 10_000;

export const publishedElsewhere = (path: string): string => `/${path} is published on another node`;

export class ClusterStreams {
  readonly #deps: ClusterStreamsDeps;
  readonly #own = new Map<string, OwnStream>();
  readonly #sweeps;
  readonly #writes = new Set<Promise<void>>();
  /** A removal failed: rows of streams that have ended are left. */
  #isDirty = false;
  #fence = 0;
  #loading: { readonly atMs: number; readonly done: Promise<void> } | null = null;
  /** Where streams were located last. */
  readonly #origins = new Map<string, string>();
  #foreign: ReadonlyMap<string, ForeignStream> = new Map();
  #text = "[]";
  #version = 0;

  constructor(deps: ClusterStreamsDeps) {
    this.#deps = deps;
    this.#sweeps = sweepEvery(
      deps.sweepMs ?? SWEEP_MS,
      () => this.#sweep(),
      (error) => deps.log.warn({ err: error }, "published streams could not be checked; retrying"),
    );
  }

  /** Resolves when the database knows what has ended. */
  async close(): Promise<void> {
    await this.#sweeps.close();
    await Promise.all(this.#writes);
  }

  /** For a runner. Without the database it publishes: no other node runs its process. */
  async claimForRunner(path: string): Promise<boolean> {
    const claimed = await withTimeout(DATABASE_MS, this.claim(path, false)).catch((error: unknown) => {
      this.#deps.log.warn({ err: error, path }, "published stream could not be written; retrying");
      return true;
    });
    return claimed === TIMED_OUT || claimed;
  }

  /** For a publisher. False: another node has this path. Rejects without the database. */
  async claim(path: string, isByKey: boolean): Promise<boolean> {
    const claim = { path, nodeUuid: this.#deps.node.uuid, fence: ++this.#fence, isByKey };
    if (!(await claimStream(this.#deps.sql, claim))) return false;
    const info = this.#own.get(path)?.info ?? null;
    this.#own.set(path, { ...claim, info, claimedMs: performance.now() });
    return true;
  }

  /** The first keyframe has arrived. */
  add(info: StreamInfo): void {
    const { path } = info;
    const known = this.#own.get(path);
    const claim = { path, nodeUuid: this.#deps.node.uuid, fence: ++this.#fence, isByKey: known?.isByKey ?? false };
    this.#own.set(path, { ...claim, info, claimedMs: performance.now() });
    this.#write(this.#publish(claim, info));
  }

  /** It has ended, or has not begun. */
  remove(path: string): void {
    const known = this.#own.get(path);
    this.#own.delete(path);
    if (known !== undefined) this.#write(this.#release([known]));
  }

  /** The hub has ended, and with it all streams of this node. */
  clear(): void {
    const all = [...this.#own.values()];
    this.#own.clear();
    if (all.length > 0) this.#write(this.#release(all));
  }

  /** What the hub pulls the stream from: the hub of the node that publishes it, with a token. Null: no other node does. */
  async locate(path: string): Promise<string | null> {
    const rtspUrl = await this.#findOrigin(path);
    if (rtspUrl === null) return null;
    const token = `${RELAY_PREFIX}${this.#deps.key.sign("relay", ["play", path])}`;
    return `${rtspUrl.replace("rtsp://", `rtsp://relay:${token}@`)}/${path}`;
  }

  /** While the database does not answer, where the stream was. */
  async #findOrigin(path: string): Promise<string | null> {
    const { sql, node } = this.#deps;
    const known = this.#origins.get(path) ?? null;
    const found = await withTimeout(DATABASE_MS, findOrigin(sql, node.uuid, path)).catch(
      (): typeof TIMED_OUT => TIMED_OUT,
    );
    if (found === TIMED_OUT) return known;
    this.#origins.delete(path);
    if (found === null) return null;
    this.#origins.set(path, found.rtspUrl);
    if (this.#origins.size > MAX_ORIGINS) this.#origins.delete(this.#origins.keys().next().value ?? "");
    return found.rtspUrl;
  }

  isToken(secret: string): boolean {
    return secret.startsWith(RELAY_PREFIX);
  }

  /** The hub of another node plays what is published here, and nothing else. */
  allows(secret: string, action: "publish" | "play", path: string): boolean {
    return action === "play" && this.#deps.key.isGood("relay", [action, path], secret.slice(RELAY_PREFIX.length));
  }

  /** Reads what the other nodes publish, unless it was read a moment ago. */
  refresh(): Promise<void> {
    const { freshMs } = this.#deps.node.limits;
    if (this.#loading !== null && performance.now() - this.#loading.atMs < freshMs) return this.#loading.done;
    const loading = { atMs: performance.now(), done: this.#load() };
    this.#loading = loading;
    loading.done.catch(() => {
      if (this.#loading === loading) this.#loading = null;
    });
    return loading.done;
  }

  /** Changes whenever another node starts or ends a stream. As of the last `refresh`. */
  get version(): number {
    return this.#version;
  }

  /** Published on another node. As of the last `refresh`. */
  has(path: string): boolean {
    return this.#foreign.has(path);
  }

  /** Published on other nodes. As of the last `refresh`. */
  get paths(): readonly string[] {
    return [...this.#foreign.keys()];
  }

  /** Paths that are published on other nodes with a key. As of the last `refresh`. */
  get keyPaths(): readonly string[] {
    return [...this.#foreign.values()].filter(({ isByKey }) => isByKey).map(({ path }) => path);
  }

  /** The other node that publishes this path and can be reached, or null. */
  async findNode(path: string): Promise<NodeRow | null> {
    await this.refresh();
    const found = this.#foreign.get(path);
    return found === undefined ? null : this.#deps.node.find(found.nodeUuid);
  }

  /** By which clients reach the media hubs of the nodes. */
  async listHosts(): Promise<readonly NodeHosts[]> {
    return (await this.#deps.node.list()).map(({ hosts, rtspUrl }) => ({
      hosts,
      rtspPort: rtspUrl === null ? null : Number(new URL(rtspUrl).port),
    }));
  }

  async #load(): Promise<void> {
    const rows = await listForeignStreams(this.#deps.sql, this.#deps.node.uuid);
    const text = JSON.stringify(rows.map(({ path, nodeUuid }) => [path, nodeUuid]));
    this.#foreign = new Map(rows.map((row) => [row.path, row]));
    if (text !== this.#text) this.#version += 1;
    this.#text = text;
  }

  async #publish(claim: StreamClaim, info: StreamInfo): Promise<void> {
    if (await publishStream(this.#deps.sql, claim, info)) return;
    if (this.#own.get(claim.path)?.fence !== claim.fence) return;
    this.#deps.log.warn({ path: claim.path }, "publisher disconnected: another node has taken over its path");
    this.#deps.expel(claim.path, publishedElsewhere(claim.path));
  }

  #release(claims: readonly StreamClaim[]): Promise<void> {
    return releaseStreams(this.#deps.sql, this.#deps.node.uuid, claims).catch((error: unknown) => {
      this.#isDirty = true;
      throw error;
    });
  }

  #write(writing: Promise<void>): void {
    const written = writing
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, "published streams could not be written; retrying"),
      )
      .finally(() => this.#writes.delete(written));
    this.#writes.add(written);
  }

  /** Makes the database agree with the hub: after it was unreachable, or this node had lost its lease. */
  async #sweep(): Promise<void> {
    const { sql, node } = this.#deps;
    for (const { path, info, claimedMs } of this.#own.values())
      if (info === null && performance.now() - claimedMs > PENDING_MS) this.remove(path);
    if (this.#own.size === 0 && !this.#isDirty) return;
    // Newer claims are not judged by these rows.
    const lastFence = this.#fence;
    const rows = new Map((await listOwnStreams(sql, node.uuid)).map((row) => [row.path, row]));
    this.#isDirty = false;
    for (const stream of this.#own.values()) {
      const isStored = rows.get(stream.path)?.isPublished === true;
      if (stream.info !== null && !isStored && stream.fence <= lastFence) await this.#publish(stream, stream.info);
    }
    const left = [...rows.values()].filter(({ path, fence }) => !this.#own.has(path) && fence <= lastFence);
    if (left.length > 0) await this.#release(left.map((row) => ({ ...row, nodeUuid: node.uuid, isByKey: false })));
  }
}
