/** What a process is asked for while it lives, one after the other, and what of it must be restored in a new run. */
import type { Logger } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import type { RunnerJob, SetResult } from "../../schemas/runner.ts";
import { SerialQueue } from "../async/serial-queue.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput, BranchRow } from "../store/outputs.ts";
import type { LiveProperties } from "../store/processes.ts";
import type { PrepareOrder } from "./adoption.ts";
import type { Feed } from "./feed.ts";
import type { Ledger } from "./ledger.ts";
import type { Life } from "./life.ts";
import type { LiveSupply } from "./live-supply.ts";
import type { BranchState, ProcessBranches } from "./process-branches.ts";
import type { ProcessOutputs } from "./process-outputs.ts";
import type { ProcessParts } from "./process-parts.ts";
import type { ProcessState } from "./processes.ts";
import { RECORDING, type Recorder } from "./recorder.ts";
import { refuseCrowd, refuseOffer, refuseRequest, refuseRestarting, refuseState } from "./refusals.ts";
import { type RunnerOrder, RunnerSilence } from "./runner.ts";

export interface OrdersParts extends Pick<ProcessParts, "row" | "offers" | "slots"> {
  readonly outputs: ProcessOutputs;
  readonly branches: ProcessBranches;
  /** Rejects with `invalid_input` where its graph, with the params it has, does not take what a client gives. */
  prepare(order: Pick<PrepareOrder, "given" | "attach"> & { readonly params?: JsonRecord }): Promise<unknown>;
  readonly recorder: Pick<Recorder, "tend">;
  readonly log: Logger;
  readonly life: Life;
  readonly ledger: Ledger;
  readonly feed: Feed;
  readonly supply: LiveSupply;
  /** A runner must answer, and an order get its turn. */
  readonly replyMs: number;
}

/** How an output is attached in the store as well. */
export interface AttachmentStore {
  /** Whether it was before or not. Rejects when it may not be attached. */
  attach(): Promise<AttachedOutput>;
  detach(): Promise<void>;
}

/** A slot to attach, and how it is attached in the store as well. */
export interface BranchOrder {
  readonly slot: string;
  readonly params: JsonRecord;
  readonly store: {
    insert(branch: { readonly slot: string; readonly params: JsonRecord }): Promise<BranchRow>;
    delete(uuid: string): Promise<void>;
  };
}

/** Attached by the service: for outputs, for viewers, and as process recordings. */
const OWN_SLOTS = ["feed", "view", "rtsp", "rtmp", "cot", RECORDING];

/** Orders that wait for others. */
const MOST_WAITING = 32;

const LIVING: readonly ProcessState[] = ["running", "paused"];

export class Orders {
  readonly #parts: OrdersParts;
  readonly #queue = new SerialQueue();

  constructor(parts: OrdersParts) {
    this.#parts = parts;
  }

  pause(): Promise<void> {
    const { life, ledger } = this.#parts;
    return this.#enqueue(async () => {
      this.#expect(["running"], "paused");
      await this.ask({ type: "pause" });
      this.#expect(["running"], "paused");
      ledger.desired = "paused";
      life.enter("paused");
      await ledger.promise();
    });
  }

  resume(): Promise<void> {
    const { life, ledger, feed } = this.#parts;
    return this.#enqueue(async () => {
      this.#expect(["paused"], "resumed");
      await this.ask({ type: "resume" });
      this.#expect(["paused"], "resumed");
      ledger.desired = "running";
      life.enter("running");
      await feed.sync();
      await ledger.promise();
    });
  }

  /** What the runner has and what the store has is the same in the end, however often it is tried. */
  attach(store: AttachmentStore): Promise<void> {
    const { outputs } = this.#parts;
    return this.#enqueue(async () => {
      this.expectLiving("given an output");
      const output = await store.attach();
      if (outputs.has(output.outputUuid)) return;
      try {
        await outputs.add(output, (attachment) => {
          this.expectLiving("given an output");
          return this.#attach(attachment);
        });
      } catch (error) {
        await store.detach();
        throw error;
      }
    });
  }

  detach(outputUuid: string, store: Pick<AttachmentStore, "detach">): Promise<void> {
    const { outputs } = this.#parts;
    return this.#enqueue(async () => {
      if (outputs.has(outputUuid)) {
        this.expectLiving("relieved of an output");
        if (outputs.isRouted(outputUuid)) await this.ask({ type: "detach", attachment: outputUuid });
        outputs.delete(outputUuid);
      }
      await store.detach();
    });
  }

  attachBranch({ slot, params, store }: BranchOrder): Promise<BranchState> {
    const { branches, prepare } = this.#parts;
    return this.#enqueue(async () => {
      this.expectLiving("given a branch");
      this.#expectOpenSlot(slot);
      await prepare({ given: {}, attach: { slot, params } });
      const branch = await store.insert({ slot, params });
      try {
        await branches.add(branch, async ({ id, ...rest }) => {
          this.expectLiving("given a branch");
          await this.ask({ type: "attach", attachment: id, ...rest });
        });
      } catch (error) {
        await store.delete(branch.uuid);
        throw error;
      }
      return branches.states.find(({ uuid }) => uuid === branch.uuid) ?? raise(`branch ${branch.uuid} is gone`);
    });
  }

  detachBranch(uuid: string, store: BranchOrder["store"]): Promise<void> {
    const { branches } = this.#parts;
    return this.#enqueue(async () => {
      if (!branches.has(uuid))
        throw new ServiceError("branch_not_found", {
          detail: `there is no branch ${uuid}; GET /process/${this.#parts.row.uuid}/branches lists those there are`,
        });
      this.expectLiving("relieved of a branch");
      const isAttached = branches.attachments.some(({ id }) => id === uuid);
      if (isAttached) await this.ask({ type: "detach", attachment: uuid });
      branches.delete(uuid);
      await store.delete(uuid);
    });
  }

  /** Slots that clients may attach. */
  get openSlots(): Readonly<Record<string, JsonRecord>> {
    return Object.fromEntries(Object.entries(this.#parts.slots).filter(([slot]) => !OWN_SLOTS.includes(slot)));
  }

  #expectOpenSlot(slot: string): void {
    const { row, slots } = this.#parts;
    if (OWN_SLOTS.includes(slot)) {
      const message = `is attached by the service itself: for outputs with POST /process/${row.uuid}/{output_uuid}, for viewers and recordings as they come`;
      throw new ServiceError("invalid_input", { detail: `/slot ${message}.`, errors: [{ path: "/slot", message }] });
    }
    if (!Object.hasOwn(slots, slot)) throw refuseOffer(row.graph, slot, Object.keys(this.openSlots));
  }

  setProperties(nodes: LiveProperties, params: JsonRecord = {}): Promise<void> {
    const { ledger, prepare } = this.#parts;
    return this.#enqueue(async () => {
      this.expectLiving("changed");
      const hasParams = Object.keys(params).length > 0;
      if (hasParams) await prepare({ params: { ...ledger.params, ...params }, given: params });
      const result = await this.ask({ type: "set", nodes, ...(hasParams && { params }) });
      ledger.mergeParams(params, (result as SetResult | null)?.replaced ?? []);
      ledger.mergeLive(nodes);
      await ledger.promise();
    });
  }

  /** What others supply is what the runner has, if there is one; the next one begins with it. */
  syncSupply(): Promise<void> {
    const { ledger } = this.#parts;
    return this.#queue.run(async () => {
      if (LIVING.includes(ledger.state)) await this.#syncSupply();
    });
  }

  describe(format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return this.#enqueue(async () => {
      this.expectLiving("described");
      return this.ask({ type: "describe", format });
    });
  }

  /** The feed is for who watches now, if it runs. */
  syncFeed(sync: () => Promise<void>): Promise<void> {
    const { ledger } = this.#parts;
    return this.#queue.run(async () => (ledger.state === "running" ? sync() : undefined));
  }

  /** Looks after what is attached: other ways for outputs that get nowhere, the recording by the room there is. */
  async tend(): Promise<void> {
    const { outputs, recorder, ledger, log } = this.#parts;
    // Nothing flows through one that is paused: its outputs are not at fault.
    const isRunning = (): boolean => ledger.state === "running";
    const detours = isRunning() ? await outputs.seek() : [];
    return this.#queue.run(async () => {
      if (!LIVING.includes(ledger.state)) return;
      // Its fault is no other's: the outputs come all the same.
      await recorder.tend().catch((error) => log.warn({ err: error }, "its recording could not be looked after"));
      if (!isRunning()) return;
      await outputs.follow(
        detours,
        async (attachment) => void (await this.ask({ type: "detach", attachment })),
        (attachment) => this.#attach(attachment),
      );
    });
  }

  /** Of a run through which data flows: makes it what the process should be. */
  restore(): Promise<void> {
    const { life, ledger, feed, branches } = this.#parts;
    return this.#queue.run(async () => {
      life.noteFlowing();
      branches.noteFlowing();
      const { live, desired } = ledger;
      if (Object.keys(live).length > 0) await this.ask({ type: "set", nodes: live });
      // It may have changed since the job was made.
      await this.#syncSupply();
      if (desired === "paused") await this.ask({ type: "pause" });
      if (life.run === null || !life.isWanted) return;
      life.enter(desired === "paused" ? "paused" : "running");
      // Viewers may have come and gone since the job was made.
      if (desired === "running") await feed.sync();
    });
  }

  expectLiving(wish: string): void {
    this.#expect(LIVING, wish);
  }

  expectOffer(offer: string): void {
    const { row, offers, slots } = this.#parts;
    const offered = new Set([...offers, ...Object.keys(slots)]);
    if (!offered.has(offer)) throw refuseOffer(row.graph, offer, [...offered]);
  }

  expectSlot(slot: string): void {
    const slots = Object.keys(this.#parts.slots);
    if (!slots.includes(slot)) throw refuseOffer(this.#parts.row.graph, slot, slots);
  }

  /** At once, whoever's turn it is. */
  async ask(order: RunnerOrder): Promise<unknown> {
    const { life, ledger } = this.#parts;
    const { run } = life;
    if (run === null) throw refuseState(ledger.state, "asked for that", LIVING);
    try {
      return await run.request(order);
    } catch (error) {
      if (!life.isWanted) throw refuseState("stopping", "asked for that", LIVING);
      // It hangs. What follows is a crash, and a restart.
      if (error instanceof RunnerSilence) run.kill(error.message);
      throw refuseRequest(error as Error);
    }
  }

  /** Rejects with `rate_limited` when too many wait, or for too long. */
  #enqueue<T>(task: () => Promise<T>): Promise<T> {
    const { replyMs } = this.#parts;
    const tooMany = `${MOST_WAITING} requests wait for this process already; try again in a moment`;
    if (this.#queue.waiting >= MOST_WAITING) return Promise.reject(refuseCrowd(tooMany));
    const tooLong = `the process did not get to this within ${replyMs / 1000} s; try again in a moment`;
    return this.#queue.runWithin(replyMs, () => refuseCrowd(tooLong), task);
  }

  async #syncSupply(): Promise<void> {
    await this.#parts.supply.sync(async (nodes) => void (await this.ask({ type: "set", nodes })));
  }

  async #attach({ id, slot, params }: RunnerJob["attach"][number]): Promise<void> {
    this.expectSlot(slot);
    await this.ask({ type: "attach", attachment: id, slot, params });
  }

  #expect(states: readonly ProcessState[], wish: string): void {
    const { life, ledger } = this.#parts;
    const { state } = ledger;
    if (states.includes(state)) return;
    throw state === life.shownState ? refuseState(state, wish, states) : refuseRestarting(wish);
  }
}

function raise(message: string): never {
  throw new Error(message);
}
