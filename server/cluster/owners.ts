/** Which node runs a process. */
import { BatchedReads } from "../async/batched-reads.ts";
import { findOwners, type ProcessOwner } from "../store/claims.ts";
import type { Sql } from "../store/client.ts";
import type { NodeRow } from "../store/nodes.ts";
import type { ClusterNode } from "./node.ts";

/** A process that another node runs. */
export interface ForeignProcess {
  readonly node: NodeRow;
  readonly fence: number;
}

/** How long an owner is used. A request to a node that is not the owner any longer is answered with 421 and asks again. */
const FRESH_MS = 1_000;
const MAX_CACHED = 10_000;

export class Owners {
  readonly #node: ClusterNode;
  readonly #reads: BatchedReads<string, ProcessOwner>;
  readonly #cache = new Map<string, { readonly atMs: number; readonly found: ProcessOwner | null }>();

  constructor(node: ClusterNode, sql: Sql) {
    this.#node = node;
    this.#reads = new BatchedReads((uuids) => findOwners(sql, uuids));
  }

  /** Null: this node runs it, it has ended or does not exist, or its node cannot be reached. `isFresh`: not from the cache. */
  async find(processUuid: string, isFresh = false): Promise<ForeignProcess | null> {
    const owner = await this.#read(processUuid, isFresh);
    if (owner === null || owner.nodeUuid === this.#node.uuid) return null;
    const node = await this.#node.find(owner.nodeUuid);
    return node === null ? null : { node, fence: owner.fence };
  }

  async #read(uuid: string, isFresh: boolean): Promise<ProcessOwner | null> {
    const cached = this.#cache.get(uuid);
    if (!isFresh && cached !== undefined && performance.now() - cached.atMs < FRESH_MS) return cached.found;
    const atMs = performance.now();
    const found = (await this.#reads.get(uuid)) ?? null;
    this.#cache.delete(uuid);
    this.#cache.set(uuid, { atMs, found });
    if (this.#cache.size > MAX_CACHED) this.#cache.delete(this.#cache.keys().next().value ?? "");
    return found;
  }
}
