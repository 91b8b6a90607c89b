/** One process that this machine holds: its life, what it is asked for, and those who follow and watch it. */
import type { Logger } from "pino";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { TELEMETRY_CHANNEL } from "../../schemas/telemetry.ts";
import { Poller } from "../async/poller.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { LiveProperties, ProcessRow } from "../store/processes.ts";
import type { IncomingMessage } from "../telemetry/channels.ts";
import { ProcessTelemetry, refuseTelemetry } from "../telemetry/process-telemetry.ts";
import type { TelemetryNumbers } from "../telemetry/status.ts";
import type { LiveProcess } from "./describe-process.ts";
import { Feed, type PictureSlot } from "./feed.ts";
import { explainHalt, stopRates } from "./halt.ts";
import type { LaunchTimes } from "./launch.ts";
import { Launcher } from "./launcher.ts";
import { Ledger } from "./ledger.ts";
import { Life } from "./life.ts";
import { LiveSupply, type SuppliedValues } from "./live-supply.ts";
import { type AttachmentStore, type BranchOrder, Orders } from "./orders.ts";
import { type BranchState, ProcessBranches } from "./process-branches.ts";
import { ProcessOutputs } from "./process-outputs.ts";
import type { AlertNode, ProcessNeeds, ProcessParts } from "./process-parts.ts";
import type { Picture, ProcessError, ProcessNotice, ProcessState } from "./processes.ts";
import { Reception } from "./reception.ts";
import { RECORDING, Recorder } from "./recorder.ts";
import type { RunnerReport } from "./runner.ts";
import type { StartLimit } from "./start-limit.ts";
import { Whereabouts } from "./whereabouts.ts";

/** The channel of messages in native form. */
const DRONE_DATA = "drone_data";

export class SupervisedProcess {
  readonly row: ProcessRow;
  /** Where rules of alerts are evaluated; null where its graph does not. */
  readonly alertNode: AlertNode | null;
  readonly #ledger: Ledger;
  readonly #reception: Reception;
  readonly #feed: Feed;
  readonly #whereabouts: Whereabouts;
  readonly #life: Life;
  readonly #orders: Orders;
  readonly #outputs: ProcessOutputs;
  readonly #branches: ProcessBranches;
  readonly #recorder: Recorder;
  readonly #supply = new LiveSupply();
  readonly #telemetry: ProcessTelemetry | null;

  constructor(parts: ProcessParts, needs: ProcessNeeds) {
    const { row, input } = parts;
    const { limits, sql } = needs;
    const log = needs.log.child({ process: row.uuid });
    this.row = row;
    this.alertNode = parts.alertNode ?? null;
    const ledger = new Ledger(row, {
      ...{ sql, saveMs: limits.saveMs, isFile: input.isFile },
      onLost: () => this.lose(),
      onTrouble: (error) => log.warn({ err: error }, "its state could not be written down"),
    });
    const reception = new Reception(ledger, log);
    const feed = new Feed({
      attach: (slot) => this.#orders.ask({ type: "attach", attachment: slot, slot, params: {} }),
      detach: (slot) => this.#orders.ask({ type: "detach", attachment: slot }),
    });
    this.#ledger = ledger;
    this.#reception = reception;
    this.#feed = feed;
    const outputs = new ProcessOutputs(parts.outputs, needs.routeOutput);
    const branches = new ProcessBranches(parts.branches, parts.slots);
    const recorder = new Recorder({
      log,
      isOffered: parts.hasRecording && RECORDING in parts.slots,
      segmentMs: needs.recordings.segmentMs,
      hasRoom: () => needs.recordings.isAllowed(),
      isFlowing: () => ledger.state === "running",
      nextFile: () => needs.recordings.nextFile(row.uuid),
      attach: async ({ id, ...rest }) => void (await this.#orders.ask({ type: "attach", attachment: id, ...rest })),
      detach: async (attachment) => void (await this.#orders.ask({ type: "detach", attachment })),
    });
    const tending = new Poller(() => this.#tend(limits.lookupMs));
    this.#outputs = outputs;
    this.#branches = branches;
    this.#recorder = recorder;
    this.#whereabouts = new Whereabouts(input.locate, limits.lookupMs, () => this.#life.move());
    const launcher = new Launcher({
      ...{ row, input, needs, ledger, feed, outputs, branches, recorder, supply: this.#supply },
      findSource: () => this.#whereabouts.find(),
      onReport: (report) => this.#hear(report),
      onRun: (run) => this.#life.noteRun(run),
    });
    this.#life = new Life({
      ...{ ledger, reception, limits, log, isFile: input.isFile, label: row.sourceUrl, endsAt: row.endsAt },
      launch: (order, signal) => launcher.launch(order, signal),
      restore: () => this.#orders.restore(),
      onRunEnded: () => {
        this.#whereabouts.setLost(false);
        outputs.endRun();
        branches.endRun();
        recorder.endRun();
      },
      onClose: () => {
        this.#telemetry?.close();
        void tending.close();
        input.release?.();
      },
    });
    this.#orders = new Orders({
      ...parts,
      log,
      outputs,
      branches,
      recorder,
      prepare: (order) => needs.prepare({ ...row, params: ledger.params, sourceUri: input.uri, ...order }),
      life: this.#life,
      ledger,
      feed,
      supply: this.#supply,
      replyMs: limits.replyMs,
    });
    this.#telemetry = row.telemetryCfg === null ? null : this.#openTelemetry(row.telemetryCfg, needs.config, log);
    tending.start(limits.lookupMs);
  }

  /** Settles when no runner is left and its end is written down, or never will be. Never rejects. */
  get ended(): Promise<void> {
    return this.#life.ended;
  }

  get fence(): number {
    return this.#ledger.claim.fence;
  }

  get state(): ProcessState {
    return this.#ledger.state;
  }

  get isActive(): boolean {
    return this.#ledger.isActive;
  }

  get runnerPid(): number | undefined {
    return this.#life.run?.pid;
  }

  /** In all its runs under this claim. */
  get runningMs(): number {
    return this.#reception.meter.totalMs;
  }

  /** As it is now, which the database hears of a little later. */
  get view(): LiveProcess {
    const { error, lastError, restarts, framesLost, startedAt, finishedAt } = this.#ledger;
    const { reconnecting, stats } = this.#reception;
    const state = this.#life.shownState;
    return {
      ...{ state, error, lastError, restarts, framesLost, startedAt, finishedAt, reconnecting },
      restarting: this.#life.isRestarting,
      outputs: explainHalt(this.#outputs.states, { state, reconnecting }),
      recording: this.#recorder.state,
      telemetry: this.#telemetry?.info ?? null,
      // A runner that is paused, or gone, has told its last numbers while it ran.
      stats: stats === null || (state === "running" && this.#life.run !== null) ? stats : stopRates(stats),
    };
  }

  /** Null: its source has none. */
  get telemetryNumbers(): TelemetryNumbers | null {
    return this.#telemetry?.numbers ?? null;
  }

  /** See `Life`. */
  start(limit: StartLimit): Promise<LaunchTimes> {
    return this.#life.start(limit);
  }

  abandon(): void {
    this.#life.abandon();
  }

  /** Goes on with what another server left. */
  resume(): void {
    this.#life.resume();
  }

  stop(error: ProcessError | null = null): Promise<void> {
    return this.#life.stop(error);
  }

  halt(): Promise<void> {
    return this.#life.halt();
  }

  lose(): void {
    this.#life.lose();
  }

  /** Nothing is written any more, whatever comes. */
  closeLedger(): void {
    this.#ledger.close();
  }

  /** To the database: how far it is. */
  saveProgress(): void {
    if (this.state === "running" || this.state === "paused") void this.#ledger.save();
  }

  pause(): Promise<void> {
    return this.#orders.pause();
  }

  unpause(): Promise<void> {
    return this.#orders.resume();
  }

  attach(store: AttachmentStore): Promise<void> {
    return this.#orders.attach(store);
  }

  detach(outputUuid: string, store: Pick<AttachmentStore, "detach">): Promise<void> {
    return this.#orders.detach(outputUuid, store);
  }

  attachBranch(branch: BranchOrder): Promise<BranchState> {
    return this.#orders.attachBranch(branch);
  }

  detachBranch(uuid: string, store: BranchOrder["store"]): Promise<void> {
    return this.#orders.detachBranch(uuid, store);
  }

  get branches(): readonly BranchState[] {
    return this.#branches.states;
  }

  /** Slots that clients may attach, with the JSON Schema of their params. */
  get slots(): Readonly<Record<string, JsonRecord>> {
    return this.#orders.openSlots;
  }

  setProperties(nodes: LiveProperties, params: JsonRecord = {}): Promise<void> {
    return this.#orders.setProperties(nodes, params);
  }

  /** Live values that hold from the first frame of every run on. Only whoever supplies them sets these properties. */
  supplyLive(values: SuppliedValues): void {
    this.#supply.add(values);
  }

  /** They have changed. Resolves when the runner has them; while there is none to have them, at once. */
  syncSupply(): Promise<void> {
    return this.#orders.syncSupply();
  }

  /** Those who follow it hear this too. */
  tell(notice: ProcessNotice): void {
    this.#reception.tell(notice);
  }

  describe(format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown> {
    return this.#orders.describe(format);
  }

  expectLiving(wish: string): void {
    this.#orders.expectLiving(wish);
  }

  expectOffer(offer: string): void {
    this.#orders.expectOffer(offer);
  }

  /** Throws where no client may bring any. */
  expectTelemetry(): (message: IncomingMessage) => void {
    if (this.#telemetry === null) throw refuseTelemetry();
    return this.#telemetry.expectReceiver();
  }

  follow(listener: (notice: ProcessNotice) => void): () => void {
    const unfollow = this.#reception.follow(this.#life.shownState, this.#life.isRestarting, listener);
    if (this.#telemetry === null) return unfollow;
    const { info, lasting } = this.#telemetry;
    listener({ type: "telemetry", telemetry: info });
    // What never changes is told once, and would be nothing to whoever comes later.
    if (lasting !== null) listener({ type: "message", channel: DRONE_DATA, message: lasting });
    return unfollow;
  }

  /** While it is paused or started again, the feed comes with the next frames. */
  async watch(slot: PictureSlot, listener: (picture: Picture) => void): Promise<() => Promise<void>> {
    this.#orders.expectSlot(slot);
    return this.#feed.watch(slot, listener, (sync) => this.#orders.syncFeed(sync));
  }

  #hear(report: RunnerReport): void {
    this.#reception.hear(report);
    if (report.type === "reconnecting") this.#whereabouts.setLost(report.reconnecting);
    if (report.type === "element") this.#telemetry?.handleEvent(report.event as JsonRecord);
    if (report.type !== "attachment") return;
    this.#outputs.hear(report);
    this.#branches.hear(report);
    this.#recorder.hear(report);
  }

  #openTelemetry(setting: TelemetrySetting, config: ProcessNeeds["config"], log: Logger): ProcessTelemetry {
    let known: TelemetryInfo["state"] | null = null;
    const telemetry = new ProcessTelemetry({
      ...{ setting, config, graph: this.row.graph },
      // Not by an order: a runner that is slow to take telemetry need not be ended for it.
      deliver: async (message) => this.#life.run?.request({ type: "deliver", channel: TELEMETRY_CHANNEL, message }),
      publish: (message) => this.#reception.tell({ type: "message", channel: DRONE_DATA, message }),
      announce: (info) => {
        const { state, detail } = info;
        if (state !== known) log.info({ state, detail }, "telemetry");
        known = state;
        this.#reception.tell({ type: "telemetry", telemetry: info });
      },
    });
    this.#reception.follow(this.state, false, (notice) => {
      if (notice.type !== "state" && notice.type !== "restarting") return;
      const { state } = this;
      telemetry.noteRunner(state === "running" || state === "paused" ? state : "gone");
    });
    return telemetry;
  }

  /** What fails here fails because the run ends, or is tried again. */
  async #tend(everyMs: number): Promise<number> {
    await this.#orders.tend().catch(() => {});
    return everyMs * (0.75 + Math.random() / 2);
  }
}
