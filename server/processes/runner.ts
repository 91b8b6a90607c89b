/**
 * A runner: the child process in which one process runs its graph, from `start` until it exits. Owner: the pool, then the
 * launcher that took it. A runner that stops reporting or exceeds its memory is killed, which counts as a crash.
 */
import type { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { NoReply, type RequestOf, RequestRejected } from "../../ipc/channel.ts";
import { Child, type ChildExit, describeExit } from "../../ipc/child.ts";
import { type LiveValues, mergeLive } from "../../schemas/live-values.ts";
import { PictureReader } from "../../schemas/picture-stream.ts";
import { PICTURES, RUNNER_PROTOCOL, type RunnerJob, RunnerMessage, type RunnerRequest } from "../../schemas/runner.ts";
import { MAX_TIMER_MS } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { requestError, wrongState } from "./errors.ts";
import type { Picture } from "./processes.ts";
import type { RunEnd } from "./restart-policy.ts";
import type { RunnerFolder, RunnerFolders } from "./runner-folders.ts";
import type { StateMachine } from "./state-machine.ts";

export type RunnerCommand = RequestOf<RunnerRequest>;
/** Everything that a runner sends by itself. */
export type RunnerReport = Exclude<RunnerMessage, { type: "hello" | "reply" }>;
export type AttachmentReport = Extract<RunnerReport, { type: "attachment" }>;
/** A slot that is attached under an id. */
export type Attachment = RunnerJob["attach"][number];

const NAME = "the runner";

export interface RunnerOptions {
  readonly entry: URL;
  readonly confinement: Confinement;
  /** It is killed beyond this. */
  readonly memoryBytes: number;
  /** Null: it can open no files of the data folder. */
  readonly folders: RunnerFolders | null;
  /** Further folders that it can write to. */
  readonly writes: readonly string[];
  readonly log: Logger;
  /** Until it is loaded. */
  readonly loadMs: number;
  readonly replyMs: number;
  readonly stopMs: number;
  /** A running runner reports every second. */
  readonly silentMs: number;
}

/** Receives what a started runner sends. */
export interface RunnerListener {
  onReport(report: RunnerReport): void;
  /** `attachment`: the id of the attached slot that encoded it. */
  onPicture(attachment: string, picture: Picture): void;
}

export class Runner {
  /** Resolves when the runner has exited; never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Resolves with the first frame of the source; stays pending when none arrives. */
  readonly flowing: Promise<void>;
  /** Resolves when the graph plays, with or without input; stays pending when it never does. */
  readonly playing: Promise<void>;
  readonly child: Child<RunnerRequest, RunnerReport>;
  readonly #folder: RunnerFolder | null;
  readonly #options: RunnerOptions;
  #listener: RunnerListener | null = null;
  /** The reason that the runner gave before it exited. */
  #reported: RunEnd | null = null;
  #isStopping = false;
  #exitTimer: NodeJS.Timeout | undefined;
  #flow = (): void => {};
  #play = (): void => {};

  constructor(options: RunnerOptions) {
    const { entry, confinement, memoryBytes, folders, writes, log, loadMs } = options;
    this.#options = options;
    const folder = folders?.make() ?? null;
    this.#folder = folder;
    this.flowing = new Promise((resolve) => {
      this.#flow = resolve;
    });
    this.playing = new Promise((resolve) => {
      this.#play = resolve;
    });
    this.child = new Child<RunnerRequest, RunnerReport>({
      ...{ name: NAME, protocol: RUNNER_PROTOCOL, receives: RunnerMessage, log, loadMs, memoryBytes },
      spawn: () =>
        confinement.spawn({
          ...{ entry, memoryBytes, hasChannel: true, hasPictures: true },
          reads: folder?.reads ?? [],
          writes: [...(folder?.writes ?? []), ...writes],
        }),
      onMessage: (report) => this.#receive(report),
    });
    this.ended = this.child.gone.then((exit) => this.#end(exit));
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Once, when it is loaded. The caller limits how long this takes by killing it. */
  start(job: RunnerJob, listener: RunnerListener): void {
    this.#listener = listener;
    this.#readPictures(listener);
    this.request({ type: "start", job }, MAX_TIMER_MS).then(this.#play, (error: Error) => {
      if (error instanceof NoReply) return; // it has exited, which says more
      if (!(error instanceof RequestRejected)) return this.kill(error.message);
      const { kind, message: detail } = error;
      this.#awaitExit({ kind: kind === "source" || kind === "graph" ? kind : "crash", detail });
    });
  }

  /** Rejects with `RequestRejected` or `NoReply`. */
  async request(command: RunnerCommand, limitMs = this.#options.replyMs): Promise<unknown> {
    return this.child.request(this.#folder?.lend(command) ?? command, limitMs);
  }

  /** Lets it shut down within the limit, then kills it. Resolves when it has exited. */
  async stop(): Promise<RunEnd> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#killLater("it did not stop in time");
      this.request({ type: "stop" }, MAX_TIMER_MS).catch(() => {});
    }
    return this.ended;
  }

  /** At once. A crash, unless it was being stopped. */
  kill(reason: string): void {
    this.child.kill(reason);
  }

  #receive(report: RunnerReport): void {
    if (report.type === "flowing") this.#flow();
    else if (report.type === "state") this.#enter(report);
    else this.child.refresh();
    this.#listener?.onReport(report);
  }

  #enter({ state, failure }: Extract<RunnerReport, { type: "state" }>): void {
    const { silentMs } = this.#options;
    if (state === "running") this.child.expectWithin(silentMs, `it reported nothing for ${silentMs / 1000} s`);
    else this.child.unwatch();
    if (state === "finished") this.#awaitExit({ kind: "finished" });
    if (state === "failed") {
      const { kind, ...fault } = failure ?? { kind: "pipeline" as const, detail: "the runner gave no reason" };
      this.#awaitExit({ kind: kind === "pipeline" ? "crash" : kind, ...fault });
    }
  }

  /** It has reported its end and exits by itself. */
  #awaitExit(end: RunEnd): void {
    this.#reported ??= end;
    this.#killLater("it did not exit");
  }

  #killLater(reason: string): void {
    this.#exitTimer ??= setTimeout(() => this.kill(reason), this.#options.stopMs);
  }

  async #end(exit: ChildExit): Promise<RunEnd> {
    clearTimeout(this.#exitTimer);
    void this.#folder?.close().catch(() => {}); // the next start of the server removes it
    if (this.#isStopping && this.#reported?.kind !== "finished") return { kind: "stopped" };
    return this.#reported ?? { kind: "crash", detail: describeExit(NAME, exit) };
  }

  #readPictures(listener: RunnerListener): void {
    const stream = this.child.process.stdio[PICTURES] as Readable | null | undefined;
    const reader = new PictureReader();
    stream?.on("error", () => {}); // its exit is reported instead
    stream?.on("data", (chunk: Buffer) => {
      try {
        for (const { captureMs, attachment, bytes } of reader.read(chunk))
          listener.onPicture(attachment, { captureMs, bytes });
      } catch {
        stream.destroy();
        this.kill("it sent an invalid picture");
      }
    });
  }
}

/** The current runner of a process, for requests. Rejects with `ServiceError` what it rejects, or when there is none. */
export class RunnerLink {
  runner: Runner | null = null;
  readonly #machine: StateMachine;

  constructor(machine: StateMachine) {
    this.#machine = machine;
  }

  async request(command: RunnerCommand): Promise<unknown> {
    const { runner } = this;
    const reject = (): Error => wrongState(this.#machine.state, "sent a request", ["running", "paused"]);
    if (runner === null) throw reject();
    try {
      return await runner.request(command);
    } catch (error) {
      if (!this.#machine.isWanted) throw reject();
      // It hangs: that is a crash, and a restart follows.
      if (error instanceof NoReply) runner.kill(error.message);
      throw requestError(error as Error);
    }
  }

  async attach({ id, ...attachment }: Attachment): Promise<void> {
    await this.request({ type: "attach", attachment: id, ...attachment });
  }

  async detach(attachment: string): Promise<void> {
    await this.request({ type: "detach", attachment });
  }
}

/** Properties that the service supplies, such as alert rules. */
export interface SuppliedValues {
  /** Before each launch, to read them. Never rejects, and is quick. */
  prepare(): Promise<void>;
  readonly live: LiveValues;
}

/** All of one process: every runner begins with them and is updated when they change. */
export class SuppliedProperties {
  readonly #suppliers: SuppliedValues[] = [];
  /** What the current runner has. */
  #sent: LiveValues = {};

  add(supplier: SuppliedValues): void {
    this.#suppliers.push(supplier);
  }

  async prepare(): Promise<void> {
    await Promise.all(this.#suppliers.map((supplier) => supplier.prepare()));
  }

  /** For the job of a new runner. */
  beginRun(): LiveValues {
    this.#sent = this.#live;
    return this.#sent;
  }

  /** Rejects when the runner does; the next change retries it. */
  async sync(link: RunnerLink): Promise<void> {
    const live = this.#live;
    if (isDeepStrictEqual(live, this.#sent)) return;
    await link.request({ type: "set", nodes: live });
    this.#sent = live;
  }

  get #live(): LiveValues {
    return this.#suppliers.reduce((all, { live }) => mergeLive(all, live), {} as LiveValues);
  }
}
