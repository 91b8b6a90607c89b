/**
 * Many nodes on one database, without servers: each renews its lease, stores the progress, usage and recordings of its
 * processes and looks for alerts and deliveries as often as a real one does, and now and then a process moves to another
 * node. Tracks are left out: with many nodes they need a database of their own size.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { listRunning } from "../../../server/store/alerts.ts";
import { claimFree } from "../../../server/store/claims.ts";
import type { Sql } from "../../../server/store/client.ts";
import { findNextWakeMs } from "../../../server/store/destinations.ts";
import { NODE_LEASE, type NodeFacts, removeNodes, renewNode } from "../../../server/store/nodes.ts";
import { saveProgress } from "../../../server/store/progress.ts";
import { saveRecordings } from "../../../server/store/recordings.ts";
import { readStandings, writeUsage } from "../../../server/store/users.ts";
import { newUuid } from "../../../server/uuid.ts";

export const NODES = 100;
const PROCESSES = 20;
const RECORDINGS = 10;
/** As in the service. */
const INTERVALS_MS = { renew: NODE_LEASE.renewMs * 0.875, usage: 5_000, recordings: 3_000, alerts: 3_500, look: 5_000 };
/** Between two processes of a node that move. */
const MOVE_MS = 20_000;

interface Owner {
  readonly userUuid: string;
  readonly sourceUuid: string;
}

export interface Simulated {
  readonly renewalsMs: readonly number[];
  readonly claims: number;
  /** Statements that failed. */
  readonly failures: number;
}

/** Runs until `measure` resolves, which is called when all nodes have joined. */
export async function simulate(sql: Sql, owner: Owner, measure: () => Promise<void>): Promise<Simulated> {
  const nodes = Array.from({ length: NODES }, () => new SimulatedNode(sql, owner));
  for (const node of nodes) await node.join();
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  const running = nodes.map((node) => node.run(end.signal));
  await measure();
  const renewalsMs = nodes.flatMap((node) => node.renewalsMs);
  const sum = (pick: (node: SimulatedNode) => number): number => nodes.reduce((total, node) => total + pick(node), 0);
  const result = { renewalsMs, claims: sum(({ claims }) => claims), failures: sum(({ failures }) => failures) };
  end.abort();
  await Promise.all(running);
  await sql`delete from processes where user_uuid = ${owner.userUuid}`;
  await sql`delete from recordings where user_uuid = ${owner.userUuid}`;
  await removeNodes(sql, sql`version = ${VERSION}`);
  return result;
}

const VERSION = "simulated";

class SimulatedNode {
  readonly renewalsMs: number[] = [];
  claims = 0;
  failures = 0;
  readonly #uuid = newUuid();
  readonly #sql: Sql;
  readonly #owner: Owner;
  /** Fences by process. */
  readonly #held = new Map<string, number>();
  readonly #recordings = Array.from({ length: RECORDINGS }, () => newUuid());
  #ms = 0;

  constructor(sql: Sql, owner: Owner) {
    this.#sql = sql;
    this.#owner = owner;
  }

  async join(): Promise<void> {
    await this.#renew();
    const { userUuid, sourceUuid } = this.#owner;
    const rows = Array.from({ length: PROCESSES }, () => ({
      ...{ uuid: newUuid(), userUuid, sourceUuid, sourceUrl: "", graph: "detect", params: "{}", hasTrackLogger: false },
      ...{ desired: "running", state: "running", nodeUuid: this.#uuid, fence: 1, startedAt: new Date() },
    }));
    await this.#sql`insert into processes ${this.#sql(rows)}`;
    for (const { uuid } of rows) this.#held.set(uuid, 1);
  }

  /** Until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const every = async (intervalMs: number, task: () => Promise<unknown>): Promise<void> => {
      await sleep(intervalMs * Math.random(), null, { signal }).catch(() => {});
      while (!signal.aborted) {
        await task().catch(() => {
          this.failures += 1;
        });
        await sleep(intervalMs * (0.9 + Math.random() / 5), null, { signal }).catch(() => {});
      }
    };
    const { renew, usage, recordings, alerts, look } = INTERVALS_MS;
    await Promise.all([
      every(renew, () => this.#renew()),
      every(usage, () => this.#meter()),
      every(recordings, () => this.#saveRecordings()),
      every(alerts, () => listRunning(this.#sql, [...this.#held.keys()])),
      every(look, () => findNextWakeMs(this.#sql)),
      every(MOVE_MS, () => this.#move()),
    ]);
  }

  async #renew(): Promise<void> {
    const facts: NodeFacts = {
      ...{ uuid: this.#uuid, version: VERSION, url: `http://${this.#uuid}:8080`, rtspUrl: null, hosts: [], labels: {} },
      ...{ graphs: { detect: "" }, load: { cores: 4, memoryBytes: 2 ** 33 }, cores: null, memoryBytes: null },
      maxProcesses: null,
    };
    const beganMs = performance.now();
    const { owned, free } = await renewNode(this.#sql, facts, NODE_LEASE.leaseSeconds);
    this.renewalsMs.push(performance.now() - beganMs);
    if (free > 0 || owned.length > this.#held.size) await this.#claim();
  }

  async #meter(): Promise<void> {
    this.#ms += INTERVALS_MS.usage;
    const view = { state: "running", stats: { fps_in: 25, fps_out: 25 } };
    const held = [...this.#held];
    await Promise.all([
      saveProgress(
        this.#sql,
        held.map(([uuid, fence]) => ({
          ...{ uuid, fence, positionNs: this.#ms * 1e6, nextTrackId: 1000, framesLost: null, restarts: 0 },
          ...{ usedCores: 0.3, usedBytes: 3e8, view },
        })),
      ),
      writeUsage(
        this.#sql,
        held.map(([processUuid, fence]) => ({ processUuid, fence, runningMs: this.#ms })),
      ),
    ]);
    await readStandings(this.#sql, [this.#owner.userUuid]);
  }

  async #saveRecordings(): Promise<void> {
    const startedAt = new Date();
    const segments = [{ index: 0, startedAtMs: startedAt.getTime(), durationMs: 1000, sizeBytes: 1e6 }];
    const updates = this.#recordings.map((uuid) => ({
      ...{ ...this.#owner, uuid, alias: "camera", startedAt, segments, end: null, isRing: false },
    }));
    await saveRecordings(this.#sql, this.#uuid, updates);
  }

  /** One of its processes is free; the next node that renews claims it. */
  async #move(): Promise<void> {
    const [uuid] = this.#held.keys();
    if (uuid === undefined || this.#held.size < PROCESSES / 2) return;
    this.#held.delete(uuid);
    await this.#sql`update processes set node_uuid = null where uuid = ${uuid}`;
  }

  async #claim(): Promise<void> {
    const listHeld = () => [...this.#held.keys()];
    const claimer = { nodeUuid: this.#uuid, isAlone: false, canTakeOver: true, labels: {}, listHeld, isPatient: true };
    for (const { uuid, fence } of await claimFree(this.#sql, claimer)) {
      this.#held.set(uuid, fence);
      this.claims += 1;
    }
  }
}
