/**
 * One job: does what the server asks and tells how it goes. Owns the running graph; `over` resolves when that is closed
 * and its end has been told, or when there never was one and the server wants none.
 */
import { basename } from "node:path";
import type { TappedBuffer } from "../../../native/addon.ts";
import { allowConnections } from "../../../native/gstreamer.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import { dropLive, type LiveValues } from "../../../schemas/live-values.ts";
import { maskCredentials } from "../../../schemas/mask.ts";
import type { RunnerFailure, RunnerJob, RunnerMessage, RunnerRequest, SetResult } from "../../../schemas/runner.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import { type GraphEvent, GraphFailure } from "../events.ts";
import { failureOf } from "../handlers.ts";
import { LIMITS } from "../limits.ts";
import { RunningGraph } from "../running-graph.ts";
import { Attachments } from "./attachments.ts";
import { compileJob, type Knowledge, listHosts } from "./compile-job.ts";
import { Description } from "./describe.ts";
import { describeFailure, hideSource, isPath } from "./failure.ts";
import { FileFrames } from "./file-frames.ts";
import { onFirstFrame } from "./first-frame.ts";
import { patchPlan } from "./patch-plan.ts";
import { PictureSocket } from "./picture-socket.ts";
import { Refusal, type RequestHandler } from "./requests.ts";
import { retell } from "./retell.ts";
import { RunningTime } from "./running-time.ts";
import { sayFaults, setLive } from "./set-live.ts";
import { Statistics } from "./statistics.ts";

type State = (RunnerMessage & { type: "state" })["state"];
type Tell = (message: RunnerMessage) => void;

/** What a runner has while it has a graph. */
interface Running {
  readonly graph: RunningGraph;
  readonly job: RunnerJob;
  readonly description: Description;
  /** With the live values that hold. */
  readonly compiled: Compiled;
}

/** Of the pipeline, taken while it is there. */
type Reading = Pick<RunnerMessage & { type: "progress" }, "positionNs" | "nextTrackId" | "stats" | "framesLeft">;

const RANK = { idle: 0, starting: 1, running: 2, paused: 2, stopping: 3, finished: 4, failed: 4 } as const;

const PROGRESS_MS = 1_000;
/** What is under way has so long to arrive: a server that stops its runner waits five seconds for all of it. */
const DRAIN_MS = 2_500;

/** `track` of a frame in `elements/track/track.ts:12`. */
function folderOf(frame: string): string {
  const parts = frame.split("/");
  return parts[parts.findLastIndex((part) => /\.ts:\d/.test(part)) - 1] ?? "";
}

export class Runner implements RequestHandler {
  readonly over: Promise<void>;
  readonly #knowledge: Knowledge;
  readonly #tell: Tell;
  readonly #countLost: () => number;
  readonly #cut = new AbortController();
  readonly #time = new RunningTime();
  readonly #statistics = new Statistics();
  #end: () => void = () => {};
  #state: State | "idle" = "idle";
  #running: Running | null = null;
  #live: LiveValues = {};
  /** As the graph is written: a property that was set does not show its parameter any more. */
  #uses: Compiled["paramUses"] = [];
  #isReconnecting = false;
  readonly #attachments: Attachments;
  #pictures: PictureSocket | null = null;
  #timer: NodeJS.Timeout | undefined;
  #reading: Reading | null = null;
  readonly #frames = new FileFrames();

  /** `countLost`: messages that the server did not read in time. */
  constructor(knowledge: Knowledge, tell: Tell, countLost: () => number) {
    this.#knowledge = knowledge;
    this.#tell = tell;
    this.#countLost = countLost;
    this.#attachments = new Attachments(tell);
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  arrived({ type }: RunnerRequest): void {
    if (type === "stop") void this.stop();
  }

  async handle(request: RunnerRequest): Promise<unknown> {
    switch (request.type) {
      case "start":
        return this.#start(request.job);
      case "stop":
        return this.stop();
      case "pause":
        return this.#pause();
      case "resume":
        return this.#resume();
      case "attach":
        return this.#attach(request);
      case "detach":
        return this.#detach(request.attachment);
      case "set":
        return this.#set(request.nodes as LiveValues, (request.params ?? {}) as JsonRecord);
      case "describe":
        return this.#expectRunning().description.write(request.format);
      case "deliver":
        return this.#expectRunning().graph.deliver(request.channel, request.message as JsonRecord);
    }
  }

  /** Ends the stream, lets what is under way arrive, closes; at any moment, and never rejects. */
  async stop(): Promise<void> {
    if (this.#state === "idle") this.#end();
    else if (this.#running === null) this.#cut.abort();
    else {
      this.#enter("stopping");
      await this.#running.graph.stop(DRAIN_MS);
    }
    await this.over;
  }

  /** A fault outside of any handler's call: nothing that runs can be relied on any more. */
  crash(thrown: unknown): void {
    const { job } = this.#running ?? {};
    const { message, trace } = failureOf(null, thrown);
    const detail = `an error that no element caught: ${job === undefined ? message : hideSource(message, job)}`;
    // No call of a handler's: its folder has to do.
    const folders = trace.map((frame) => folderOf(frame));
    const node = folders.find((folder) => this.#knowledge.elements.has(folder));
    try {
      this.#read();
    } catch {
      // The last reading has to do.
    }
    this.#conclude({ kind: "pipeline", detail, ...(node !== undefined && { node }), trace: [...trace] });
  }

  async #start(job: RunnerJob): Promise<void> {
    if (this.#state !== "idle") throw new Refusal("wrong_state", `it is ${this.#state}: a runner is started once`);
    this.#enter("starting");
    this.#live = (job.live ?? {}) as LiveValues;
    const compiled = this.#compile(job);
    allowConnections(listHosts(job));
    const graph = await this.#run(job, compiled);
    this.#running = { graph, job, description: new Description(graph, job), compiled };
    this.#timer = setInterval(() => this.#progress(), PROGRESS_MS);
    void graph.ended.then(async ({ error }) =>
      this.#conclude(error === null ? null : await describeFailure(error, graph.plan, job)),
    );
    if (this.#cut.signal.aborted) void this.stop();
  }

  #compile(job: RunnerJob): Compiled {
    try {
      const compiled = compileJob(job, this.#knowledge);
      this.#uses = compiled.paramUses;
      return patchPlan(compiled, this.#live, this.#knowledge.elements) ?? compileJob(job, this.#knowledge, this.#live);
    } catch (error) {
      const failure = { kind: "graph", detail: (error as Error).message } as const;
      this.#conclude(failure);
      throw new Refusal(failure.kind, failure.detail);
    }
  }

  async #run(job: RunnerJob, compiled: Compiled): Promise<RunningGraph> {
    this.#pictures = new PictureSocket();
    for (const { id, slot } of job.attach) this.#attachments.add(id, segmentOf(slot, id));
    const fromNs = BigInt(job.positionNs);
    try {
      return await RunningGraph.start(compiled, {
        ...this.#knowledge,
        uuid: job.uuid,
        sourceUri: job.sourceLabel ?? labelOf(job.sourceUri),
        firstTrackId: job.firstTrackId,
        giveUpSeconds: job.giveUpSeconds,
        frameLimitMs: LIMITS.stuckFrameMs,
        fromNs,
        epochNs: BigInt(Math.round(job.epochMs ?? Date.now() - Number(fromNs / 1_000_000n))) * 1_000_000n,
        attach: job.attach.map(({ id, slot, params, isExpendable = false }) => ({
          ...{ slot, instance: id, params: params as JsonRecord, isExpendable },
        })),
        signal: this.#cut.signal,
        onEvent: (event) => this.#hear(event),
        print: async (line) => this.#send("print", { line }),
        send: async (_, channel, message) => this.#send(channel, message),
        show: (node, captureNs, bytes) => this.#show(node, captureNs, bytes),
        onBuilt: (pipeline, segments, origins) => {
          this.#statistics.place(pipeline, segments, origins);
          this.#attachments.place(pipeline, segments);
          if (isPath(job.sourceUri)) this.#frames.place(pipeline, fromNs);
          onFirstFrame(pipeline, origins, (frame) => this.#flow(frame));
        },
        onClosing: () => this.#read(),
      });
    } catch (error) {
      const told = this.#cut.signal.aborted ? null : await this.#explain(error, job, compiled);
      this.#conclude(told);
      throw new Refusal(told?.kind ?? "stopped", told?.detail ?? "it was stopped before it ran");
    }
  }

  async #explain(error: unknown, job: RunnerJob, { plan }: Compiled): Promise<RunnerFailure> {
    // Of a slot that was to be attached from the beginning.
    if (error instanceof GraphFaults || plan === null)
      return { kind: "graph", detail: error instanceof GraphFaults ? sayFaults(error.faults) : String(error) };
    const failure = error instanceof GraphFailure ? error : new GraphFailure(null, (error as Error).message);
    return describeFailure(failure, plan, job);
  }

  /** The first frame is here. */
  #flow(frame: TappedBuffer): void {
    this.#frames.begin(frame);
    if (this.#state !== "starting") return;
    this.#tell({ type: "flowing" });
    this.#enter("running");
  }

  async #pause(): Promise<void> {
    this.#expectState("running");
    await this.#expectRunning().graph.pause();
    this.#reconnect(false, "");
    this.#enter("paused");
    this.#progress();
  }

  async #resume(): Promise<void> {
    this.#expectState("paused");
    await this.#expectRunning().graph.resume();
    this.#enter("running");
  }

  async #attach({ attachment, slot, params, isExpendable }: RunnerRequest & { type: "attach" }): Promise<void> {
    const { graph } = this.#expectRunning();
    if (this.#attachments.has(attachment)) throw new Refusal("wrong_state", `"${attachment}" is attached already`);
    if (graph.plan.slots[slot] === undefined) {
      const offered = Object.keys(graph.plan.slots).join(", ") || "none";
      throw new Refusal("graph_lacks", `graph "${graph.plan.graph}" has no slot "${slot}"; it has ${offered}`);
    }
    this.#attachments.add(attachment, segmentOf(slot, attachment));
    try {
      await graph.attach(slot, params as JsonRecord, attachment, isExpendable);
      this.#attachments.meter(attachment, graph.segments());
    } catch (error) {
      this.#attachments.delete(attachment);
      throw error instanceof GraphFaults ? new Refusal("invalid", sayFaults(error.faults)) : error;
    }
  }

  async #detach(attachment: string): Promise<void> {
    const { graph } = this.#expectRunning();
    const segment = this.#attachments.segmentOf(attachment);
    if (segment === null) throw new Refusal("wrong_state", `"${attachment}" is not attached`);
    try {
      // One that has failed is gone already.
      if (graph.has(segment)) await graph.detach(segment);
    } catch (error) {
      if (graph.has(segment)) throw error;
      // Cut off: it is gone all the same.
      this.#tell({ type: "log", level: "warn", node: attachment, message: (error as Error).message });
    }
    this.#attachments.delete(attachment);
  }

  async #set(nodes: LiveValues, params: JsonRecord): Promise<SetResult> {
    const { graph, job, compiled } = this.#expectRunning();
    const withParams = (values: JsonRecord): RunnerJob => ({ ...job, params: { ...job.params, ...values } });
    // The later wins: a property follows its parameter again, unless it is set along with it.
    const replaced = this.#uses
      .filter(({ param }) => Object.hasOwn(params, param))
      .map(({ node, property }) => ({ node, property }))
      .filter(({ node, property }) => this.#live[node]?.[property] !== undefined);
    const changed = await setLive(graph, {
      ...{ before: dropLive(this.#live, replaced), given: nodes, params, current: compiled },
      compile: (live, values) => compileJob(withParams(values), this.#knowledge, live),
      patch: (given) => patchPlan(compiled, given, this.#knowledge.elements),
    });
    this.#live = changed.live;
    this.#running = { ...this.#expectRunning(), job: withParams(params), compiled: changed.compiled };
    return { replaced };
  }

  #hear(event: GraphEvent): void {
    if (event.type === "element") this.#statistics.hear(event.event);
    if (event.type === "element" && this.#attachments.hear(event.node, event.event)) return;
    if (event.type === "dropped") this.#attachments.fail(event.segment, maskCredentials(event.reason));
    for (const message of retell(event)) {
      if (message.type === "reconnecting") this.#reconnect(message.reconnecting, message.detail);
      else this.#tell(message);
    }
  }

  #reconnect(reconnecting: boolean, detail: string): void {
    if (reconnecting === this.#isReconnecting) return;
    this.#isReconnecting = reconnecting;
    this.#tell({ type: "reconnecting", reconnecting, detail: maskCredentials(detail) });
  }

  #send(channel: string, message: JsonRecord): void {
    if (!this.#isSilent) this.#tell({ type: "message", channel, message });
  }

  #show(node: string, captureNs: bigint, bytes: Uint8Array): boolean {
    if (this.#isSilent) return false;
    const attachment = /^[^:/]+:([^/]+)\//.exec(node)?.[1] ?? "";
    return this.#pictures?.show({ captureMs: Number(captureNs / 1000n) / 1000, attachment, bytes }) ?? false;
  }

  /** What a live source had shown before a pause is not told during it. */
  get #isSilent(): boolean {
    return this.#state === "paused" && this.#isLive;
  }

  get #isLive(): boolean {
    return /^rt[ms]ps?:/i.test(this.#running?.job.sourceUri ?? "");
  }

  #progress(): void {
    this.#read();
    this.#tellProgress();
    this.#attachments.tell();
  }

  #read(): void {
    if (this.#running === null) return;
    const { graph, job } = this.#running;
    const { positionNs } = graph;
    this.#reading = {
      positionNs: String(positionNs ?? BigInt(job.positionNs)),
      ...this.#frames.leftAt(positionNs ?? BigInt(job.positionNs)),
      nextTrackId: graph.nextTrackId,
      stats: this.#statistics.read(this.#isLive ? graph.latencyMs : null),
    };
  }

  #tellProgress(): void {
    if (this.#reading === null) return;
    const runningMs = Math.round(this.#time.ms);
    const { framesLost } = this.#frames;
    this.#tell({ type: "progress", ...this.#reading, runningMs, messagesLost: this.#countLost(), framesLost });
  }

  /** Never back: what is being stopped is neither paused nor resumed by what was asked before. */
  #enter(state: State, failure: RunnerFailure | null = null): void {
    if (this.#state === state || RANK[state] < RANK[this.#state]) return;
    this.#state = state;
    if (state === "running") this.#time.go();
    else this.#time.halt();
    this.#tell({ type: "state", state, failure });
  }

  #conclude(failure: RunnerFailure | null): void {
    clearInterval(this.#timer);
    this.#time.halt();
    this.#tellProgress();
    this.#statistics.close();
    this.#attachments.tell();
    this.#attachments.close();
    this.#pictures?.close();
    this.#enter(failure === null ? "finished" : "failed", failure);
    this.#end();
  }

  #expectRunning(): Running {
    if (this.#running === null) throw new Refusal("wrong_state", `nothing runs here: it is ${this.#state}`);
    return this.#running;
  }

  #expectState(state: State): void {
    if (this.#state !== state) throw new Refusal("wrong_state", `it is ${this.#state}; expected ${state}`);
  }
}

/** As the compiler names it. */
const segmentOf = (slot: string, id: string): string => `${slot}:${id}`;

/** Without passwords, and without where a file lies on the server. */
const labelOf = (uri: string): string => (isPath(uri) ? basename(uri) : maskCredentials(uri));
