/**
 * This server as a node: registered in the database, with a lease that it renews. While the database is unreachable its
 * processes continue, silently once the lease has ended, as another node may run them by then; afterwards it keeps what no
 * other node has claimed. A node has a new uuid with every start of the server.
 */
import type { Logger } from "pino";
import { monotonicMs } from "../../ipc/monotonic.ts";
import { Poller } from "../async/poller.ts";
import type { Sql } from "../store/client.ts";
import {
  expireNodes,
  listNodes,
  NODE_LEASE,
  type NodeFacts,
  type NodeRow,
  type OwnedProcess,
  removeNodes,
  renewNode,
} from "../store/nodes.ts";
import type { Claim } from "../store/processes.ts";
import { newUuid } from "../uuid.ts";

export const LIMITS = {
  ...NODE_LEASE,
  /** Outputs are silent this long before the lease ends: closing their connections takes a moment. */
  silenceMs: 3_000,
  /** After this time without the database, processes are given up. */
  holdMs: 300_000,
  /** How long a list of the nodes is used. */
  freshMs: 1_000,
};
export type ClusterLimits = Readonly<typeof LIMITS>;

export interface NodeRenewal {
  /** What the listener held when the renewal began. What is not `owned` with the same fence is lost. */
  readonly asked: readonly Claim[];
  readonly owned: ReadonlyMap<string, OwnedProcess>;
  /** Active processes without a live node. */
  readonly free: number;
}

export interface NodeListener {
  readonly claims: readonly Claim[];
  onRenewed(renewal: NodeRenewal): Promise<void>;
  /** The database has been unreachable for `holdMs`. */
  onGivenUp(): void;
}

export interface ClusterNodeDeps {
  readonly sql: Sql;
  readonly log: Logger;
  /** No other server can use this database: all other nodes in it have ended. */
  readonly isAlone: boolean;
  /** For tests. */
  readonly limits?: Partial<ClusterLimits>;
}

export class ClusterNode {
  readonly uuid = newUuid();
  readonly isAlone: boolean;
  readonly limits: ClusterLimits;
  readonly #deps: ClusterNodeDeps;
  readonly #renewing = new Poller(() => this.#renewAgain());
  #facts: Omit<NodeFacts, "uuid"> = {
    ...{ version: "", url: null, rtspUrl: null, hosts: [], labels: {}, graphs: {}, load: null },
    ...{ cores: null, memoryBytes: null, maxProcesses: null },
  };
  #listener: NodeListener | null = null;
  /** Called with every renewal while it is to hand its processes over. */
  onDrain: (until: Date) => void = () => {};
  /** When the last renewal was sent. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** Since when no lease of this node has ended. */
  #steadySinceMs = Number.POSITIVE_INFINITY;
  #sweptMs = Number.NEGATIVE_INFINITY;
  #drainsUntil: Date | null = null;
  #givingUp: NodeJS.Timeout | undefined;
  #listed: { readonly atMs: number; readonly rows: Promise<readonly NodeRow[]> } | null = null;

  private constructor(deps: ClusterNodeDeps) {
    this.#deps = deps;
    this.isAlone = deps.isAlone;
    this.limits = { ...LIMITS, ...deps.limits };
  }

  static async join(deps: ClusterNodeDeps, facts: Partial<NodeFacts> = {}): Promise<ClusterNode> {
    const node = new ClusterNode(deps);
    node.#facts = { ...node.#facts, ...facts };
    if (deps.isAlone) await removeNodes(deps.sql, deps.sql`uuid <> ${node.uuid}`);
    await node.renew();
    node.#renewing.start(node.limits.renewMs);
    return node;
  }

  /** Removes it for the others at once. */
  async leave(): Promise<void> {
    clearTimeout(this.#givingUp);
    await this.#renewing.close();
    await removeNodes(this.#deps.sql, this.#deps.sql`uuid = ${this.uuid}`);
  }

  follow(listener: NodeListener): void {
    this.#listener = listener;
  }

  get facts(): Omit<NodeFacts, "uuid"> {
    return this.#facts;
  }

  /** The others learn it with the next renewal. */
  update(facts: Partial<Omit<NodeFacts, "uuid">>): void {
    this.#facts = { ...this.#facts, ...facts };
  }

  /** Takes no more processes; null: it does. */
  get drainsUntil(): Date | null {
    return this.#drainsUntil;
  }

  /**
   * When outputs must be silent, by `monotonicMs()`, unless the lease is renewed before. Null: never, as no other node can
   * claim its processes.
   */
  get validUntilMs(): number | null {
    const { leaseSeconds, silenceMs } = this.limits;
    return this.isAlone ? null : this.#renewedMs + leaseSeconds * 1000 - silenceMs;
  }

  /**
   * It may claim processes of nodes whose lease has ended. Not before it has renewed its own for a whole lease: after an
   * outage of the database all leases have ended, and every node gets the time to renew its own.
   */
  get canTakeOver(): boolean {
    return this.isAlone || monotonicMs() - this.#steadySinceMs >= this.limits.leaseSeconds * 1000;
  }

  /** All nodes, also this one and those that are lost; at most a second old. */
  list(): Promise<readonly NodeRow[]> {
    const { freshMs } = this.limits;
    if (this.#listed !== null && monotonicMs() - this.#listed.atMs < freshMs) return this.#listed.rows;
    const listed = { atMs: monotonicMs(), rows: listNodes(this.#deps.sql) };
    this.#listed = listed;
    listed.rows.catch(() => {
      if (this.#listed === listed) this.#listed = null;
    });
    return listed.rows;
  }

  /** As they are now: for decisions. */
  listNow(): Promise<readonly NodeRow[]> {
    this.#listed = null;
    return this.list();
  }

  /** A node that can be reached, or null. */
  async find(uuid: string): Promise<NodeRow | null> {
    const found = (await this.list()).find((node) => node.uuid === uuid);
    return found?.isLive === true && found.url !== null ? found : null;
  }

  /** Resolves with the milliseconds until the lease of another node can end; null when there is none. */
  async renew(): Promise<number | null> {
    const { leaseSeconds } = this.limits;
    const asked = this.#listener?.claims ?? [];
    const askedMs = monotonicMs();
    const facts = { ...this.#facts, uuid: this.uuid };
    const { owned, free, nextExpiryMs, drainsUntil } = await renewNode(this.#deps.sql, facts, leaseSeconds);
    if (askedMs - this.#renewedMs >= leaseSeconds * 1000) this.#steadySinceMs = askedMs;
    this.#renewedMs = askedMs;
    this.#drainsUntil = drainsUntil === null ? null : new Date(drainsUntil);
    if (this.#drainsUntil !== null) this.onDrain(this.#drainsUntil);
    this.#giveUpLater();
    await this.#listener?.onRenewed({ asked, owned: new Map(owned.map((process) => [process.uuid, process])), free });
    return nextExpiryMs;
  }

  async #renewAgain(): Promise<number> {
    const { sql, log } = this.#deps;
    const { renewMs } = this.limits;
    const nextMs = renewMs * (0.75 + Math.random() / 4);
    try {
      const expiryMs = await this.renew();
      if (monotonicMs() - this.#sweptMs >= SWEEP_MS) {
        await expireNodes(sql);
        this.#sweptMs = monotonicMs();
      }
      // A lease that ends before is that of a lost node: its processes are claimed at once.
      return expiryMs === null ? nextMs : Math.min(nextMs, expiryMs + EXPIRY_MS);
    } catch (error) {
      log.warn({ err: error }, "lease of this node could not be renewed; retrying");
      return Math.min(nextMs, RETRY_MS);
    }
  }

  #giveUpLater(): void {
    clearTimeout(this.#givingUp);
    if (this.isAlone) return;
    this.#givingUp = setTimeout(() => {
      this.#deps.log.warn("the database was unreachable for too long; processes are given up");
      this.#listener?.onGivenUp();
    }, this.limits.holdMs).unref();
  }
}

/** After the end of another node's lease, so that it has ended by the clock of the database. */
const EXPIRY_MS = 50;
/** Interval for removing what lost nodes have left. */
const SWEEP_MS = 30_000;
/** After a failed renewal. */
const RETRY_MS = 1_000;
