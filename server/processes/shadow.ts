/**
 * The shadow of a process: a variant of its graph in a second runner on the same source. It has no outputs: of what it
 * sends, only detections are read, to compare them with those of the process. It runs at a low priority, for a limited
 * time, ends with the process, and can never take its place.
 */
import type { Logger } from "pino";
import { ALLOWED_ELEMENTS } from "../../graphs/compiler/restrict.ts";
import type { ShadowRecord } from "../../schemas/api/shadows.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { ModelFiles, RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import type { GraphOrder, PreparedOrder } from "../graphs/library.ts";
import { type ChosenGraph, chooseGraph } from "../graphs/own-graphs.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import type { ProcessRow } from "../store/processes.ts";
import { releaseShadow, reserveShadow } from "../store/shadows.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { MessageComparison } from "./compare-messages.ts";
import { graphLacks, wrongState } from "./errors.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { ProcessInput, ProcessLimits, ProcessOffers, ShadowOrder } from "./processes.ts";
import type { Runner, RunnerPool } from "./runner.ts";

/** The process, and everything else on the machine, comes first. */
const NICENESS = 15;
const CHANNEL = "detection_data";
const OFFER = "detections";
/** Messages of telemetry that its runner has not confirmed; others are dropped. */
const MOST_DELIVERING = 16;
/** Beyond its time: what starting and stopping may take. */
const MARGIN_SECONDS = 120;

interface ShadowDeps {
  readonly row: ProcessRow;
  readonly input: ProcessInput;
  readonly sql: Sql;
  readonly log: Logger;
  readonly record: ProcessRecord;
  readonly pool: RunnerPool;
  readonly limits: Pick<ProcessLimits, "loadMs" | "startMs">;
  prepare(
    order: GraphOrder,
  ): Promise<ProcessOffers & { readonly params: JsonRecord } & Partial<Pick<PreparedOrder, "plan">>>;
  openModels(names: readonly string[]): Promise<Readonly<Record<string, ModelFiles>>>;
  /** The part of its job that concerns the source and the machine, as the process's own runner has it. */
  describeInput(sourceUri: string): Omit<RunnerJob, "graph" | "graphText" | "params" | "firstTrackId" | "attach">;
}

/** What it runs. */
interface Variant extends Pick<ShadowRecord, "graph" | "version"> {
  readonly text: string;
  readonly params: JsonRecord;
  readonly models: readonly string[];
  readonly live: RunnerJob["live"];
}

export class Shadow {
  readonly #deps: ShadowDeps;
  /** The last one, also after its end. */
  #run: ShadowRun | null = null;
  #isStarting = false;
  #isClosed = false;

  constructor(deps: ShadowDeps) {
    this.#deps = deps;
  }

  /** Resolves when it is checked and counted; it starts in the background. */
  async start(user: User, order: ShadowOrder): Promise<ShadowRecord> {
    const { sql, row, record, input } = this.#deps;
    if (input.loops === true)
      throw new ServiceError("source_not_live", {
        detail:
          "the source is a file that loops: a second runner plays it at another position; use a camera, a stream, or the file without loop",
      });
    if (this.#isStarting || this.#run?.isActive === true)
      throw new ServiceError("wrong_state", {
        detail: `a shadow of this process runs; end it (DELETE /process/${row.uuid}/shadow) and try again`,
      });
    if (record.shownState !== "running") throw wrongState(record.shownState, "shadowed", ["running"]);
    this.#isStarting = true;
    try {
      const variant = await this.#prepare(order);
      const place = { userUuid: row.userUuid, processUuid: row.uuid };
      await reserveShadow(sql, place, order.seconds + MARGIN_SECONDS, user.limits.processes);
      const run = new ShadowRun(variant, order, this.#deps);
      this.#run = run;
      void run.play();
      // It has ended meanwhile.
      if (this.#isClosed) run.stop();
      return run.describe();
    } finally {
      this.#isStarting = false;
    }
  }

  /** The current or last one. Rejects with `shadow_not_found`. */
  read(): ShadowRecord {
    return this.#expect().describe();
  }

  /** Resolves when it has ended. */
  async stop(): Promise<ShadowRecord> {
    const run = this.#expect();
    run.stop();
    await run.ended;
    return run.describe();
  }

  /** The process has ended. */
  close(): void {
    this.#isClosed = true;
    this.#run?.stop();
  }

  #expect(): ShadowRun {
    if (this.#run !== null) return this.#run;
    throw new ServiceError("shadow_not_found", {
      detail: `this process has no shadow; POST /process/${this.#deps.row.uuid}/shadow starts one`,
    });
  }

  async #prepare({ graph: wanted, params: given }: ShadowOrder): Promise<Variant> {
    const { sql, row, input, record, prepare } = this.#deps;
    const { text: own, version: ownVersion } = record.graph;
    const current = { graph: row.graph, ...(own !== null && { graphText: own }), graphVersion: ownVersion };
    const chosen: Pick<ChosenGraph, "graph" | "graphText"> & { readonly graphVersion?: number | null } =
      wanted === null ? current : await chooseGraph(sql, row.userUuid, wanted);
    const { graph, graphVersion = null } = chosen;
    // As a text of the client it is limited to elements that reach nothing outside of the graph.
    const text = chosen.graphText ?? `graph: ${graph}-shadow\nextends: ${graph}\n`;
    const order = { graph, graphText: text, userUuid: row.userUuid, sourceUri: input.uri };
    const prepared = await prepare({
      ...{ ...order, sourceLoops: input.loops ?? false, given },
      params: wanted === null ? { ...record.params, ...given } : given,
    });
    expectNoOutputs(prepared.plan);
    if (!prepared.offers.has(OFFER)) throw graphLacks(graph, OFFER, [...prepared.offers]);
    const live = wanted === null ? record.live : {};
    return { graph, version: graphVersion, text, params: prepared.params, models: prepared.models ?? [], live };
  }
}

/** Elements that only the operator allows in graphs of clients may write or send something. */
function expectNoOutputs(plan: PreparedOrder["plan"] | undefined): void {
  const nodes = plan === undefined ? [] : [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  const outside = nodes.find(({ element }) => !ALLOWED_ELEMENTS.has(element));
  if (outside === undefined) return;
  throw new ServiceError("invalid_input", {
    detail: `A shadow has no outputs, and "${outside.element}" may write or send something; remove it from the variant.`,
    errors: [{ path: "/graph", message: `has the element "${outside.element}"; expected reviewed elements only` }],
  });
}

class ShadowRun {
  /** Resolves when no runner is left; never rejects. */
  readonly ended: Promise<void>;
  readonly #uuid = newUuid();
  readonly #variant: Variant;
  readonly #order: ShadowOrder;
  readonly #deps: ShadowDeps;
  readonly #comparison = new MessageComparison();
  readonly #abort = new AbortController();
  readonly #createdAt = new Date();
  #state: ShadowRecord["state"] = "starting";
  #error: string | null = null;
  #finishedAt: Date | null = null;
  #runner: Runner | null = null;
  #runningMs = 0;
  #delivering = 0;
  #settle = (): void => {};

  constructor(variant: Variant, order: ShadowOrder, deps: ShadowDeps) {
    this.#variant = variant;
    this.#order = order;
    this.#deps = deps;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get isActive(): boolean {
    return this.#finishedAt === null;
  }

  describe(): ShadowRecord {
    const { graph, version, params } = this.#variant;
    return {
      ...{ uuid: this.#uuid, process_uuid: this.#deps.row.uuid, state: this.#state, error: this.#error },
      ...{ graph, version, params, created_at: this.#createdAt.toISOString() },
      finished_at: this.#finishedAt?.toISOString() ?? null,
      comparison: this.#comparison.result,
    };
  }

  stop(): void {
    this.#abort.abort();
    void this.#runner?.stop();
  }

  /** Never rejects. */
  async play(): Promise<void> {
    const { record, row, sql, log } = this.#deps;
    const unfollow = record.follow((notice) => {
      if (notice.type === "message" && notice.channel === CHANNEL) this.#compare("live", notice.message);
    });
    record.mirror = (channel, message) => this.#deliver(channel, message);
    const fault = await this.#play().catch((error: Error) => error.message);
    record.mirror = null;
    unfollow();
    // Before it is shown as ended: another may be started then. Otherwise it is counted until its time is over.
    await releaseShadow(sql, row.uuid).catch((error: unknown) => log.warn({ err: error }, "shadow still counted"));
    this.#error = fault === null ? null : maskCredentials(fault);
    this.#state = fault === null ? "finished" : "failed";
    this.#finishedAt = new Date();
    const { compared } = this.#comparison;
    log.info({ shadow: this.#uuid, error: this.#error, compared }, "shadow ended");
    this.#settle();
  }

  /** Resolves with why it failed. */
  async #play(): Promise<string | null> {
    const { pool, input, row, limits, openModels, log } = this.#deps;
    const { signal } = this.#abort;
    const [sourceUri, models] = await Promise.all([input.locate(), openModels(this.#variant.models)]);
    const launched = await pool.launch({
      ...{ isFirst: false, signal, niceness: NICENESS },
      listener: { onReport: (report) => this.#handle(report), onPicture() {} },
      begin: () => ({ job: this.#makeJob(sourceUri, models), graphMs: limits.loadMs, sourceMs: limits.startMs }),
      source: { url: row.sourceUrl, isFile: input.isFile },
    });
    if ("end" in launched) {
      await launched.gone;
      return signal.aborted ? null : "detail" in launched.end ? launched.end.detail : null;
    }
    this.#runner = launched.runner;
    this.#state = "running";
    log.info({ shadow: this.#uuid, graph: this.#variant.graph, version: this.#variant.version }, "shadow started");
    if (signal.aborted) this.stop();
    const timer = setTimeout(() => this.stop(), this.#order.seconds * 1000);
    const end = await launched.runner.ended;
    clearTimeout(timer);
    return !signal.aborted && "detail" in end ? end.detail : null;
  }

  #makeJob(sourceUri: string, models: Readonly<Record<string, ModelFiles>>): RunnerJob {
    const { graph, text: graphText, params, live } = this.#variant;
    return {
      ...this.#deps.describeInput(sourceUri),
      ...{ graph, graphText, params, firstTrackId: 1, attach: [] },
      ...(live !== undefined && Object.keys(live).length > 0 && { live }),
      ...(Object.keys(models).length > 0 && { models }),
    };
  }

  #handle(report: RunnerMessage): void {
    if (report.type === "message" && report.channel === CHANNEL) this.#compare("shadow", report.message as JsonRecord);
    if (report.type !== "progress") return;
    this.#deps.record.addRunning(report.runningMs - this.#runningMs);
    this.#runningMs = report.runningMs;
  }

  /** Telemetry of a live source, as the process gets it. Batches are parts of a file, of which the first are missing. */
  #deliver(channel: string, message: JsonRecord): void {
    if (this.#runner === null || this.#delivering >= MOST_DELIVERING || "samples" in message) return;
    this.#delivering += 1;
    const confirm = () => {
      this.#delivering -= 1;
    };
    this.#runner.request({ type: "deliver", channel, message }).then(confirm, confirm);
  }

  #compare(side: "live" | "shadow", message: JsonRecord): void {
    if (this.#abort.signal.aborted) return;
    this.#comparison.add(side, message as unknown as DetectionMessage);
    const { frames } = this.#order;
    if (frames !== null && this.#comparison.compared >= frames) this.stop();
  }
}
