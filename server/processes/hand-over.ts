/**
 * Hands the processes of a node that drains or stops over to others, one after the other: each stops here, and the node that
 * suits it best is asked to resume it at once. What no node has room for stays until the time is over.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { ClusterNode } from "../cluster/node.ts";
import type { Peers } from "../cluster/peers.ts";
import { rankNodes } from "../cluster/placement.ts";
import type { NodeRow } from "../store/nodes.ts";
import type { Process } from "./process.ts";

interface HandOverDeps {
  readonly node: ClusterNode;
  readonly peers: Peers;
  readonly log: Logger;
  list(): readonly Process[];
}

/** Requests between nodes: to load a runner in advance, and to resume a process now. */
export const PREPARE_PATH = "/cluster/prepare";
export const claimPath = (processUuid: string): string => `/cluster/claim/${processUuid}`;

/** Between two attempts to find room. */
const RETRY_MS = 1_000;
const ASK_MS = 20_000;

export class HandOver {
  readonly #deps: HandOverDeps;
  #running: Promise<void> | null = null;
  #closing = new AbortController();

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
  }

  /** Resolves when all are handed over, no other node is there, or the time is over. */
  run(until: Date): Promise<void> {
    this.#running ??= this.#run(until).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  close(): void {
    this.#closing.abort();
  }

  async #run(until: Date): Promise<void> {
    const { node, log } = this.#deps;
    log.info({ until, processes: this.#deps.list().length }, "node drains: processes are handed over");
    while (Date.now() < until.getTime() && !this.#closing.signal.aborted && node.drainsUntil !== null) {
      const active = this.#deps.list().filter(({ isActive }) => isActive);
      if (active.length === 0) return;
      let moved = 0;
      for (const process of active) if (await this.#move(process)) moved += 1;
      if (moved === 0) await wait(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
    }
  }

  /** False: no other node has room. */
  async #move(process: Process): Promise<boolean> {
    const { node, log } = this.#deps;
    const { graph, graphText, labels, cores, memoryBytes, uuid } = process.row;
    const others = (await node.listNow()).filter((other) => other.uuid !== node.uuid);
    const [target] = rankNodes(others, { graph, graphText, labels, cores, memoryBytes });
    if (target === undefined) return false;
    await this.#ask(target, PREPARE_PATH).catch(() => {}); // then it only takes longer
    const beganMs = performance.now();
    await process.halt();
    const isTaken = await this.#ask(target, claimPath(uuid)).catch((error: unknown) => {
      log.warn({ err: error, process: uuid }, "node did not take a process; another one will");
      return false;
    });
    log.info({ process: uuid, node: target.uuid, isTaken, ms: Math.round(performance.now() - beganMs) }, "handed over");
    return true;
  }

  async #ask(node: NodeRow, target: string): Promise<boolean> {
    const answer = await this.#deps.peers.send(node, {
      ...{ method: "POST", target, headers: {}, body: null },
      hop: { address: "", publicUrl: "", fence: null },
      signal: AbortSignal.timeout(ASK_MS),
    });
    answer.resume();
    return answer.statusCode === 204;
  }
}
