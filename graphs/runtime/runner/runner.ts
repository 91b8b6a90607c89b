/**
 * Runs one job: handles requests of the server and sends it messages. Owns the running graph; `over` resolves when the
 * graph is closed and its end was sent, or when the server stops a runner without a job.
 */

import { basename } from "node:path";
import { refreshElements } from "../../../elements/index.ts";
import { type Channel, RequestRejected } from "../../../ipc/channel.ts";
import type { TappedBuffer } from "../../../native/addon.ts";
import { allowConnections } from "../../../native/gstreamer.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import { dropLive, type LiveValues, mergeLive } from "../../../schemas/live-values.ts";
import { maskCredentials } from "../../../schemas/mask.ts";
import type {
  ChangeResult,
  RunnerFailure,
  RunnerJob,
  RunnerMessage,
  RunnerRequest,
  SetResult,
} from "../../../schemas/runner.ts";
import type { Compiled } from "../../compiler/compile.ts";
import { GraphFaults } from "../../compiler/fault.ts";
import { type GraphEvent, GraphFailure } from "../events.ts";
import { failureOf } from "../handlers.ts";
import { LIMITS } from "../limits.ts";
import { reloadElements } from "../reload-elements.ts";
import { RunningGraph } from "../running-graph.ts";
import { Attachments } from "./attachments.ts";
import { changeGraph } from "./change-graph.ts";
import { compileJob, type Knowledge, listHosts } from "./compile-job.ts";
import { Description } from "./describe.ts";
import { Edges } from "./edges.ts";
import { describeFaults, patchPlan, setLive } from "./live-values.ts";
import { PictureSocket } from "./picture-socket.ts";
import { type ExternalAttachment, Silence } from "./silence.ts";
import { FileFrames, onFirstFrame, RunningTime, Statistics } from "./statistics.ts";
import { TestRun } from "./test-run.ts";
import { describeFailure, hideSource, isPath, toMessages } from "./to-server.ts";

type State = (RunnerMessage & { type: "state" })["state"];

/** The state of a runner with a graph. */
interface Running {
  readonly graph: RunningGraph;
  readonly job: RunnerJob;
  readonly description: Description;
  readonly edges: Edges;
  /** With the current live values. */
  readonly compiled: Compiled;
}

/** Values of the pipeline, read before it closes. */
type Reading = Pick<RunnerMessage & { type: "progress" }, "positionNs" | "nextTrackId" | "stats" | "framesLeft">;

const RANK = { idle: 0, starting: 1, running: 2, paused: 2, stopping: 3, finished: 4, failed: 4 } as const;

const PROGRESS_MS = 1_000;
/** The server waits five seconds for the whole stop. */
const DRAIN_MS = 2_500;

/** `track` of a frame in `elements/track/track.ts:12`. */
function folderOf(frame: string): string {
  const parts = frame.split("/");
  return parts[parts.findLastIndex((part) => /\.ts:\d/.test(part)) - 1] ?? "";
}

const MAX_PENDING = 64;

export class Runner {
  readonly over: Promise<void>;
  readonly #knowledge: Knowledge;
  readonly #channel: Pick<Channel<RunnerMessage, RunnerRequest>, "send" | "dropped">;
  readonly #cut = new AbortController();
  readonly #time = new RunningTime();
  readonly #statistics = new Statistics();
  #end: () => void = () => {};
  #state: State | "idle" = "idle";
  #running: Running | null = null;
  #live: LiveValues = {};
  /** Of the graph as written: a property that was set no longer refers to its parameter. */
  #uses: Compiled["paramUses"] = [];
  #isReconnecting = false;
  readonly #attachments: Attachments;
  #pictures: PictureSocket | null = null;
  #timer: NodeJS.Timeout | undefined;
  #reading: Reading | null = null;
  readonly #frames = new FileFrames();
  #test: TestRun | null = null;
  readonly #silence = new Silence(() => this.#queue(() => this.#applySilence()).catch(() => {}));
  /** External attachments of the running graph. */
  readonly #external = new Map<string, ExternalAttachment>();
  /** Messages that elements have before the first frame, of every launch. */
  readonly #delivered: { readonly channel: string; readonly message: JsonRecord }[] = [];
  /** The last states of nodes. Survives relaunches. */
  readonly #kept = new Map<string, string>();
  /** The last request received. */
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  constructor(knowledge: Knowledge, channel: Pick<Channel<RunnerMessage, RunnerRequest>, "send" | "dropped">) {
    this.#knowledge = knowledge;
    this.#channel = channel;
    this.#attachments = new Attachments((message) => channel.send(message));
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** It has received no request yet. */
  get isIdle(): boolean {
    return this.#state === "idle" && this.#pending === 0;
  }

  /** One at a time in their order; a stop takes effect at once. Rejects with `RequestRejected` for expected errors. */
  async request(request: RunnerRequest): Promise<unknown> {
    if (this.#pending >= MAX_PENDING) throw new RequestRejected("busy", `request limit reached (${MAX_PENDING})`);
    this.#pending += 1;
    if (request.type === "stop") void this.stop();
    const handle = async () => this.#handle(request);
    // An edge waits for a frame, and changes nothing.
    return (request.type === "edge" ? handle() : this.#queue(handle)).finally(() => {
      this.#pending -= 1;
    });
  }

  #queue(act: () => Promise<unknown>): Promise<unknown> {
    const done = this.#last.then(act);
    this.#last = done.catch(() => {});
    return done;
  }

  /** After the service has built elements again. */
  async reloadElements(): Promise<void> {
    await this.#queue(() => this.#reloadElements());
  }

  async #reloadElements(): Promise<void> {
    const { elements } = this.#knowledge;
    if (this.#running === null) {
      await refreshElements(elements);
      return;
    }
    const { graph, job } = this.#running;
    const compile = () => compileJob(job, this.#knowledge, this.#live);
    for (const outcome of await reloadElements({ graph, elements, compile }))
      if (outcome.type === "changed") this.#running = { ...this.#running, compiled: outcome.compiled };
      else if (outcome.type === "rejected") this.#log("warn", outcome.element, `not reloaded: ${outcome.reason}`);
      else if (outcome.type === "reloaded")
        this.#log("info", outcome.element, `reloaded: ${outcome.handlers} handlers replaced`);
  }

  #log(level: "info" | "warn", node: string, message: string): void {
    this.#channel.send({ type: "log", level, node, message });
  }

  /** The node owns the process until then, by `monotonicMs()`. */
  extendLease(untilMs: number): void {
    this.#silence.extend(untilMs);
  }

  async #handle(request: RunnerRequest): Promise<unknown> {
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
      case "change":
        return this.#change(request);
      case "describe":
        return this.#expectRunning().description.write(request.format);
      case "edge":
        return this.#expectRunning().edges.see(request.from, request.to);
      case "deliver":
        return this.#deliver(request.channel, request.message as JsonRecord);
      case "ask":
        return this.#expectRunning().graph.ask(request.channel, request.message as JsonRecord);
      case "lease":
        return this.extendLease(request.untilMs);
    }
  }

  #deliver(channel: string, message: JsonRecord): number {
    const count = this.#expectRunning().graph.deliver(channel, message);
    // Recorded telemetry is sent once, and needed again after a relaunch of the graph.
    if (Array.isArray(message.samples)) this.#delivered.push({ channel, message });
    return count;
  }

  /** Sends EOS, drains and closes; in any state. Never rejects. */
  async stop(): Promise<void> {
    if (this.#state === "idle") this.#end();
    else if (this.#running === null) this.#cut.abort();
    else {
      this.#enter("stopping");
      await this.#running.graph.stop(DRAIN_MS);
    }
    await this.over;
  }

  /** An error outside of any handler's call: the process is in an unknown state and ends. */
  crash(thrown: unknown): void {
    const { job } = this.#running ?? {};
    const { message, trace } = failureOf(null, thrown);
    const detail = `uncaught error: ${job === undefined ? message : hideSource(message, job)}`;
    // Without a handler's call, the element is found by its folder.
    const folders = trace.map((frame) => folderOf(frame));
    const node = folders.find((folder) => this.#knowledge.elements.has(folder));
    try {
      this.#read();
    } catch {
      // Keep the last reading.
    }
    this.#conclude({ kind: "pipeline", detail, ...(node !== undefined && { node }), trace: [...trace] });
  }

  async #start(job: RunnerJob): Promise<void> {
    if (this.#state !== "idle") throw new RequestRejected("wrong_state", `the runner is ${this.#state}; expected idle`);
    this.#enter("starting");
    this.#live = (job.live ?? {}) as LiveValues;
    this.#test = job.test === undefined ? null : new TestRun(job.test);
    const texts = new Set<string>();
    const times = [Date.now()];
    const compiled = this.#compile(job, texts);
    allowConnections(listHosts(job, texts));
    times.push(Date.now());
    const graph = await this.#run(job, compiled);
    times.push(Date.now());
    if (job.traceparent !== undefined) this.#reportSpans(times);
    this.#running = { graph, job, description: new Description(graph, job), edges: new Edges(graph), compiled };
    this.#timer = setInterval(() => this.#progress(), PROGRESS_MS);
    void graph.ended.then(async ({ error }) =>
      this.#conclude(error === null ? null : await describeFailure(error, graph.plan, job)),
    );
    if (this.#cut.signal.aborted) void this.stop();
    else if (this.#silence.isSilent) await this.#applySilence();
  }

  /** Its start is part of a trace. */
  #reportSpans([begunMs = 0, compiledMs = 0, playingMs = 0]: readonly number[]): void {
    const spans = [
      { name: "compile graph", startMs: begunMs, endMs: compiledMs },
      { name: "build pipeline", startMs: compiledMs, endMs: playingMs },
    ];
    this.#channel.send({ type: "spans", spans });
  }

  #compile(job: RunnerJob, texts: Set<string>): Compiled {
    try {
      const compiled = compileJob(job, this.#knowledge, {}, texts);
      this.#uses = compiled.paramUses;
      return patchPlan(compiled, this.#live, this.#knowledge.elements) ?? compileJob(job, this.#knowledge, this.#live);
    } catch (error) {
      const failure = { kind: "graph", detail: (error as Error).message } as const;
      this.#conclude(failure);
      throw new RequestRejected(failure.kind, failure.detail);
    }
  }

  async #run(job: RunnerJob, compiled: Compiled): Promise<RunningGraph> {
    this.#pictures = new PictureSocket();
    if (job.leaseUntilMs !== undefined) this.extendLease(job.leaseUntilMs);
    for (const attachment of job.attach) {
      this.#attachments.add(attachment.id, segmentOf(attachment.slot, attachment.id));
      if (attachment.isExternal === true) this.#external.set(attachment.id, attachment);
    }
    const fromNs = BigInt(job.positionNs);
    for (const [node, state] of Object.entries(job.kept ?? {})) this.#kept.set(node, state);
    for (const { channel, message } of job.deliver ?? [])
      this.#delivered.push({ channel, message: message as JsonRecord });
    try {
      return await RunningGraph.start(compiled, {
        ...this.#knowledge,
        uuid: job.uuid,
        sourceUri: job.sourceLabel ?? labelOf(job.sourceUri),
        firstTrackId: job.firstTrackId,
        giveUpSeconds: job.giveUpSeconds,
        terrainFolder: job.terrainFolder ?? null,
        frameLimitMs: LIMITS.stuckFrameMs,
        fromNs,
        epochNs: BigInt(Math.round((job.epochMs ?? Date.now() - Number(fromNs / 1_000_000n)) * 1000)) * 1000n,
        deliver: this.#delivered,
        attach: job.attach.map(({ id, slot, params, isExpendable = false }) => ({
          ...{ slot, instance: id, params: params as JsonRecord, isExpendable },
        })),
        signal: this.#cut.signal,
        onEvent: (event) => this.#onEvent(event),
        print: async (line) => this.#send("print", { line }),
        send: async (_, channel, message) => this.#send(channel, message),
        keep: (node, state) => {
          this.#kept.set(node, state);
          this.#channel.send({ type: "kept", node, state });
        },
        kept: (node) => this.#kept.get(node) ?? null,
        show: (node, captureNs, bytes) => this.#show(node, captureNs, bytes),
        onBuilt: (pipeline, segments, origins) => {
          this.#statistics.onBuilt(pipeline, segments, origins);
          this.#attachments.onBuilt(pipeline, segments);
          if (isPath(job.sourceUri) && !isLive(job)) this.#frames.onBuilt(pipeline, fromNs);
          this.#test?.onBuilt(pipeline, origins);
          onFirstFrame(pipeline, origins, (frame) => this.#onFirstFrame(frame));
        },
        onClosing: () => {
          this.#read();
          this.#test?.onClosing();
        },
      });
    } catch (error) {
      const failure = this.#cut.signal.aborted ? null : await this.#explain(error, job, compiled);
      this.#conclude(failure);
      throw new RequestRejected(failure?.kind ?? "stopped", failure?.detail ?? "the job was stopped during its start");
    }
  }

  async #explain(error: unknown, job: RunnerJob, { plan }: Compiled): Promise<RunnerFailure> {
    // From a slot to attach at the start.
    if (error instanceof GraphFaults || plan === null)
      return { kind: "graph", detail: error instanceof GraphFaults ? describeFaults(error.faults) : String(error) };
    const failure = error instanceof GraphFailure ? error : new GraphFailure(null, (error as Error).message);
    return describeFailure(failure, plan, job);
  }

  #onFirstFrame(frame: TappedBuffer): void {
    this.#frames.onFirstFrame(frame);
    if (this.#state !== "starting") return;
    this.#channel.send({ type: "flowing" });
    this.#enter("running");
  }

  async #pause(): Promise<void> {
    this.#expectState("running");
    await this.#expectRunning().graph.pause();
    this.#setReconnecting(false, "");
    this.#enter("paused");
    this.#progress();
  }

  async #resume(): Promise<void> {
    this.#expectState("paused");
    await this.#expectRunning().graph.resume();
    this.#enter("running");
  }

  async #attach(request: Omit<RunnerRequest & { type: "attach" }, "id" | "type">): Promise<void> {
    const { attachment, slot, params, isExpendable, isExternal = false } = request;
    const { graph } = this.#expectRunning();
    if (this.#attachments.has(attachment) || this.#silence.detached.has(attachment))
      throw new RequestRejected("wrong_state", `"${attachment}" is already attached`);
    if (graph.plan.slots[slot] === undefined) {
      const offered = Object.keys(graph.plan.slots).join(", ") || "none";
      throw new RequestRejected("graph_lacks", `graph "${graph.plan.graph}" has no slot "${slot}"; it has ${offered}`);
    }
    const external = { id: attachment, slot, params, ...(isExpendable !== undefined && { isExpendable }) };
    if (isExternal && this.#silence.isSilent) {
      this.#silence.detached.set(attachment, external);
      return;
    }
    if (isExternal) this.#external.set(attachment, external);
    this.#attachments.add(attachment, segmentOf(slot, attachment));
    try {
      await graph.attach(slot, params as JsonRecord, attachment, isExpendable);
      this.#attachments.meter(attachment, graph.segments());
    } catch (error) {
      this.#attachments.delete(attachment);
      this.#external.delete(attachment);
      throw error instanceof GraphFaults ? new RequestRejected("invalid", describeFaults(error.faults)) : error;
    }
  }

  async #detach(attachment: string): Promise<void> {
    const { graph } = this.#expectRunning();
    if (this.#silence.detached.delete(attachment)) return;
    const segment = this.#attachments.segmentOf(attachment);
    if (segment === null) throw new RequestRejected("wrong_state", `"${attachment}" is not attached`);
    try {
      // A failed branch is already detached.
      if (graph.has(segment)) await graph.detach(segment);
    } catch (error) {
      if (graph.has(segment)) throw error;
      // Cut off, but detached.
      this.#channel.send({ type: "log", level: "warn", node: attachment, message: (error as Error).message });
    }
    this.#attachments.delete(attachment);
    this.#external.delete(attachment);
  }

  /** Detaches what sends to the outside, or attaches it again. A graph that is closing needs neither. */
  async #applySilence(): Promise<void> {
    const { detached, isSilent } = this.#silence;
    if (this.#running === null) return;
    const detail = isSilent ? "silent: the lease of this node has ended" : "the lease of this node is valid again";
    this.#channel.send({ type: "log", level: isSilent ? "warn" : "info", node: "", message: detail });
    for (const attachment of isSilent ? [...this.#external.values()] : [...detached.values()]) {
      const { id, slot, params, isExpendable } = attachment;
      try {
        if (isSilent) await this.#detach(id);
        else {
          detached.delete(id);
          const how = isExpendable === undefined ? {} : { isExpendable };
          await this.#attach({ attachment: id, slot, params, isExternal: true, ...how });
        }
      } catch (error) {
        this.#channel.send({ type: "log", level: "warn", node: id, message: (error as Error).message });
      }
      if (isSilent) detached.set(id, attachment);
    }
  }

  async #set(nodes: LiveValues, params: JsonRecord): Promise<SetResult> {
    const { graph, job, compiled } = this.#expectRunning();
    const withParams = (values: JsonRecord): RunnerJob => ({ ...job, params: { ...job.params, ...values } });
    // The later change wins: a property follows its parameter again, unless the same request sets it.
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

  async #change(request: RunnerRequest & { type: "change" }): Promise<ChangeResult> {
    const { graphText, params, isDryRun } = request;
    const [live, supplied] = [request.live as LiveValues, request.supplied as LiveValues];
    const { graph, compiled, job: before } = this.#expectRunning();
    const job = { ...before, graphText, params };
    const order = { job, live, supplied, isDryRun };
    const { changes, kept, next } = await changeGraph(graph, compiled, order, this.#knowledge);
    if (next !== null) {
      this.#live = mergeLive(kept, supplied);
      this.#uses = next.uses;
      const description = new Description(graph, job);
      this.#running = { ...this.#expectRunning(), job, description, compiled: next.compiled };
      this.#attachments.meterAll(graph.segments());
    }
    return { changes: [...changes], live: kept };
  }

  #onEvent(event: GraphEvent): void {
    this.#test?.onEvent(event);
    if (event.type === "element") this.#statistics.onElementEvent(event.event);
    if (event.type === "element" && this.#attachments.onElementEvent(event.node, event.event)) return;
    if (event.type === "dropped") this.#attachments.fail(event.segment, maskCredentials(event.reason));
    for (const message of toMessages(event)) {
      if (message.type === "reconnecting") this.#setReconnecting(message.reconnecting, message.detail);
      else this.#channel.send(message);
    }
  }

  #setReconnecting(reconnecting: boolean, detail: string): void {
    if (reconnecting === this.#isReconnecting) return;
    this.#isReconnecting = reconnecting;
    this.#channel.send({ type: "reconnecting", reconnecting, detail: maskCredentials(detail) });
  }

  #send(channel: string, message: JsonRecord): void {
    if (this.#test !== null) this.#test.see(channel, message);
    else if (!this.#isSilent) this.#channel.send({ type: "message", channel, message });
  }

  #show(node: string, captureNs: bigint, bytes: Uint8Array): boolean {
    if (this.#isSilent) return false;
    const attachment = /^[^:/]+:([^/]+)\//.exec(node)?.[1] ?? "";
    return this.#pictures?.show({ captureMs: Number(captureNs / 1000n) / 1000, attachment, bytes }) ?? false;
  }

  /** Frames of a live source that arrive during a pause are not reported. */
  get #isSilent(): boolean {
    return this.#state === "paused" && this.#running !== null && isLive(this.#running.job);
  }

  #progress(): void {
    this.#read();
    this.#notifyProgress();
    this.#attachments.notifyChanged();
  }

  #read(): void {
    if (this.#running === null) return;
    const { graph, job } = this.#running;
    const { positionNs } = graph;
    this.#reading = {
      positionNs: String(positionNs ?? BigInt(job.positionNs)),
      ...this.#frames.leftAt(positionNs ?? BigInt(job.positionNs)),
      nextTrackId: graph.nextTrackId,
      stats: this.#statistics.read(isLive(job) ? graph.latencyMs : null, graph.segments()),
    };
  }

  #notifyProgress(): void {
    if (this.#reading === null) return;
    const runningMs = Math.round(this.#time.ms);
    const { framesLost } = this.#frames;
    this.#channel.send({
      type: "progress",
      ...this.#reading,
      cpuMs: readCpuMs(),
      runningMs,
      messagesLost: this.#channel.dropped,
      framesLost,
    });
  }

  /** Transitions only lead forward: a pending pause or resume does not undo a stop. */
  #enter(state: State, failure: RunnerFailure | null = null): void {
    if (this.#state === state || RANK[state] < RANK[this.#state]) return;
    this.#state = state;
    if (state === "running") this.#time.start();
    else this.#time.stop();
    this.#channel.send({ type: "state", state, failure });
  }

  #conclude(failure: RunnerFailure | null): void {
    clearInterval(this.#timer);
    this.#silence.close();
    this.#time.stop();
    this.#notifyProgress();
    this.#statistics.close();
    this.#attachments.notifyChanged();
    this.#attachments.close();
    this.#pictures?.close();
    if (this.#test !== null) this.#channel.send(this.#test.report());
    this.#enter(failure === null ? "finished" : "failed", failure);
    this.#end();
  }

  #expectRunning(): Running {
    if (this.#running === null)
      throw new RequestRejected("wrong_state", `the runner is ${this.#state}; expected a running graph`);
    return this.#running;
  }

  #expectState(state: State): void {
    if (this.#state !== state)
      throw new RequestRejected("wrong_state", `the runner is ${this.#state}; expected ${state}`);
  }
}

function readCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 1000);
}

/** As named by the compiler. */
const segmentOf = (slot: string, id: string): string => `${slot}:${id}`;

const isLive = ({ sourceUri, sourceLoops = false }: RunnerJob): boolean =>
  sourceLoops || /^rt[ms]ps?:/i.test(sourceUri);

/** Without credentials, and without the folder of a file. */
const labelOf = (uri: string): string => (isPath(uri) ? basename(uri) : maskCredentials(uri));
