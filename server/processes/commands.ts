/** Commands to a process, one at a time; what they change is applied to the runner and stored, or neither. */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import type { SeenEdge, SetResult } from "../../schemas/runner.ts";
import type { SerialQueue } from "../async/serial-queue.ts";
import type { GraphOrder } from "../graphs/library.ts";
import { OUTPUT_SLOTS } from "../outputs/output-types.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  attachOutput,
  deleteBranch,
  detachOutput,
  findAttached,
  insertBranch,
  type NewBranch,
} from "../store/outputs.ts";
import type { LiveProperties, ProcessRow } from "../store/processes.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import type { Attachments } from "./attachments.ts";
import { graphLacks, rateLimited, wrongState } from "./errors.ts";
import type { StateMachine } from "./lifecycle.ts";
import { ORIGINAL } from "./original-stream.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { BranchState, ProcessInput, ProcessState } from "./processes.ts";
import type { RunnerLink } from "./runner.ts";
import { RECORDING } from "./runner-folders.ts";

interface CommandsOptions {
  readonly row: ProcessRow;
  readonly input: ProcessInput;
}

interface CommandsDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly queue: SerialQueue;
  readonly machine: StateMachine;
  readonly record: ProcessRecord;
  readonly link: RunnerLink;
  readonly attachments: Attachments;
  /** A command must begin within this time. */
  readonly replyMs: number;
  /** Rejects with `invalid_input` when the graph does not accept the values. */
  prepare(order: GraphOrder): Promise<unknown>;
}

/** Attached by the service: for outputs, for viewers, as process recordings, and for recordings of cameras. */
export const SERVICE_SLOTS: readonly string[] = ["feed", "view", RECORDING, ORIGINAL, ...OUTPUT_SLOTS];

const MAX_WAITING = 32;

const LIVE: readonly ProcessState[] = ["running", "paused"];
/** Its next runner begins with the outputs of a process that waits. */
const ATTACHABLE: readonly ProcessState[] = [...LIVE, "waiting"];

export class Commands {
  readonly #options: CommandsOptions;
  readonly #deps: CommandsDeps;

  constructor(options: CommandsOptions, deps: CommandsDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  pause(): Promise<void> {
    const { machine, link, record } = this.#deps;
    return this.#enqueue(async () => {
      this.#expect(["running"], "paused");
      await link.request({ type: "pause" });
      this.#expect(["running"], "paused");
      record.desired = "paused";
      machine.apply("pause");
      await record.saveForClient();
    });
  }

  resume(): Promise<void> {
    const { machine, link, record, attachments } = this.#deps;
    return this.#enqueue(async () => {
      this.#expect(["paused"], "resumed");
      await link.request({ type: "resume" });
      this.#expect(["paused"], "resumed");
      record.desired = "running";
      machine.apply("play");
      record.releaseHeld();
      await attachments.feed.sync();
      await record.saveForClient();
    });
  }

  /** Runner and database agree in the end, however often it is retried. */
  attach(user: User, outputUuid: string): Promise<void> {
    const { sql, log, attachments, machine } = this.#deps;
    const { outputs } = attachments;
    const { row } = this.#options;
    return this.#enqueue(async () => {
      this.#expect(ATTACHABLE, "given an output");
      const output = await attachOutput(sql, user, row.uuid, outputUuid);
      if (outputs.has(outputUuid)) return;
      try {
        await outputs.add(output, async (attachment) => {
          this.#expect(ATTACHABLE, "given an output");
          if (machine.state === "waiting") attachments.expectSlot(attachment.slot);
          else await attachments.attachOutput(attachment);
        });
      } catch (error) {
        await detachOutput(sql, row.uuid, outputUuid).catch((fault) =>
          log.warn({ err: fault }, "output of a failed attach is still stored as attached"),
        );
        throw error;
      }
    });
  }

  detach(outputUuid: string): Promise<void> {
    const { sql, link, attachments, machine } = this.#deps;
    const { outputs } = attachments;
    const { row } = this.#options;
    return this.#enqueue(async () => {
      if ((await findAttached(sql, row.uuid, outputUuid)) === null)
        throw new ServiceError("output_not_found", {
          detail: `the output ${outputUuid} is not attached to this process; GET /process/${row.uuid} lists those that are`,
        });
      if (outputs.has(outputUuid)) {
        this.#expect(ATTACHABLE, "relieved of an output");
        if (machine.state !== "waiting" && outputs.isRouted(outputUuid)) await link.detach(outputUuid);
        outputs.delete(outputUuid);
      }
      await detachOutput(sql, row.uuid, outputUuid);
    });
  }

  attachBranch(user: User, { slot, params }: Pick<NewBranch, "slot" | "params">): Promise<BranchState> {
    const { sql, link, attachments } = this.#deps;
    const { row } = this.#options;
    return this.#enqueue(async () => {
      this.#expect(LIVE, "given a branch");
      this.#expectClientSlot(slot);
      await this.#checkValues({ given: {}, attach: { slot, params } });
      const branch = await insertBranch(sql, user, row.uuid, { uuid: newUuid(), slot, params });
      try {
        return await attachments.branches.add(branch, async (attachment) => {
          this.#expect(LIVE, "given a branch");
          await link.attach(attachment);
        });
      } catch (error) {
        await deleteBranch(sql, row.uuid, branch.uuid);
        throw error;
      }
    });
  }

  detachBranch(uuid: string): Promise<void> {
    const { sql, link, attachments } = this.#deps;
    const { branches } = attachments;
    const { row } = this.#options;
    return this.#enqueue(async () => {
      const branch = branches.get(uuid);
      if (branch === undefined)
        throw new ServiceError("branch_not_found", {
          detail: `there is no branch ${uuid}; GET /process/${row.uuid}/branches lists the branches of this process`,
        });
      this.#expect(LIVE, "relieved of a branch");
      if (branches.isOffered(branch)) await link.detach(uuid);
      branches.delete(uuid);
      await deleteBranch(sql, row.uuid, uuid);
    });
  }

  setProperties(nodes: LiveProperties, params: JsonRecord = {}): Promise<void> {
    const { record, link } = this.#deps;
    return this.#enqueue(async () => {
      this.#expect(LIVE, "changed");
      const hasParams = Object.keys(params).length > 0;
      if (hasParams) await this.#checkValues({ params: { ...record.params, ...params }, given: params });
      const result = await link.request({ type: "set", nodes, ...(hasParams && { params }) });
      record.merge(nodes, params, (result as SetResult | null)?.replaced ?? []);
      await record.saveForClient();
    });
  }

  /** Rejects with `wrong_state` unless a runner is set up. */
  whileLive<T>(action: string, task: () => Promise<T>): Promise<T> {
    return this.#enqueue(async () => {
      this.#expect(LIVE, action);
      return task();
    });
  }

  describe(format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return this.whileLive("described or changed", () => this.#deps.link.request({ type: "describe", format }));
  }

  /** Not in order with other commands: it waits for a frame, and changes nothing. */
  async seeEdge(from: string, to: string): Promise<SeenEdge> {
    this.#expect(LIVE, "looked into");
    return (await this.#deps.link.request({ type: "edge", from, to })) as SeenEdge;
  }

  /** Slots that clients can attach. */
  get clientSlots(): Readonly<Record<string, JsonRecord>> {
    const { slots } = this.#deps.record.graph;
    return Object.fromEntries(Object.entries(slots).filter(([slot]) => !SERVICE_SLOTS.includes(slot)));
  }

  expectOffer(offer: string): void {
    const { row } = this.#options;
    const { offers, slots } = this.#deps.record.graph;
    const offered = new Set([...offers, ...Object.keys(slots)]);
    if (!offered.has(offer)) throw graphLacks(row.graph, offer, [...offered]);
  }

  #expectClientSlot(slot: string): void {
    const { row } = this.#options;
    const { slots } = this.#deps.record.graph;
    if (SERVICE_SLOTS.includes(slot)) {
      const message = `is attached by the service itself: for outputs with POST /process/${row.uuid}/{output_uuid}, for viewers and recordings when needed`;
      throw new ServiceError("invalid_input", { detail: `/slot ${message}.`, errors: [{ path: "/slot", message }] });
    }
    if (!Object.hasOwn(slots, slot)) throw graphLacks(row.graph, slot, Object.keys(this.clientSlots));
  }

  #expect(states: readonly ProcessState[], action: string): void {
    const { state } = this.#deps.machine;
    if (!states.includes(state as ProcessState)) throw wrongState(state, action, states);
  }

  /** Rejects with `invalid_input` when the graph, with the params that it has, does not accept them. */
  async #checkValues(order: Partial<GraphOrder>): Promise<void> {
    const { row, input } = this.#options;
    const { graph, params } = this.#deps.record;
    const source = { sourceUri: input.uri, sourceLoops: input.loops ?? false };
    await this.#deps.prepare({ ...row, graphText: graph.text, params, ...source, ...order });
  }

  /** Rejects with `rate_limited` when too many commands wait, or one waits too long. */
  #enqueue<T>(task: () => Promise<T>): Promise<T> {
    const { queue, replyMs } = this.#deps;
    if (queue.waiting >= MAX_WAITING)
      return Promise.reject(
        rateLimited(`${MAX_WAITING} requests wait for this process already; try again in a moment`),
      );
    const tooLong = `the process could not handle this within ${replyMs / 1000} s; try again in a moment`;
    return queue.runWithin(replyMs, () => rateLimited(tooLong), task);
  }
}
