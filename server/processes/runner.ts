/**
 * A runner as the server sees it: a child process that is loaded, asked and, in the end, gone. Owner: the pool of spares,
 * then the run that took it. Whoever owns it ends it.
 */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import { Deadline } from "../../ipc/deadline.ts";
import { PictureReader } from "../../schemas/picture-stream.ts";
import { PICTURES, RUNNER_PROTOCOL, type RunnerMessage, type RunnerRequest } from "../../schemas/runner.ts";
import type { InputFault } from "../service-error.ts";
import type { Confinement } from "./confinement.ts";
import type { Picture } from "./processes.ts";
import type { RunnerFolder, RunnerFolders } from "./runner-folders.ts";
import { readMessage } from "./runner-messages.ts";
import { RunnerOutput } from "./runner-output.ts";
import { watchUsage } from "./watch-usage.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
export type RunnerOrder = WithoutId<RunnerRequest>;
/** All that a runner says by itself. */
export type RunnerReport = Exclude<RunnerMessage, { type: "hello" | "reply" }>;

/** It will not, and says why; or too much is asked of it at once. */
export class RunnerRefusal extends Error {
  override readonly name = "RunnerRefusal";
  readonly kind: string;
  /** What of the request is wrong, one by one, where that is known. */
  readonly faults: readonly InputFault[];

  constructor(kind: string, detail: string, faults: readonly InputFault[] = []) {
    super(detail);
    this.kind = kind;
    this.faults = faults;
  }
}

/** It did not answer: it is gone, or it hangs. */
export class RunnerSilence extends Error {
  override readonly name = "RunnerSilence";
}

export interface RunnerExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why we ended it, or what it did wrong; null when it went by itself. */
  readonly reason: string | null;
}

export interface RunnerOptions {
  readonly entry: URL;
  readonly confinement: Confinement;
  /** It is killed beyond this. */
  readonly memoryBytes: number;
  /** Null: it opens nothing of the data. */
  readonly folders: RunnerFolders | null;
  /** Folders besides. */
  readonly writes: readonly string[];
  readonly log: Logger;
  /** To `hello`. */
  readonly loadMs: number;
  readonly replyMs: number;
}

/** Requests under way at once: more means that it does not answer. */
const MOST_WAITING = 64;

interface Waiting {
  readonly deadline: Deadline;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class Runner {
  /** Rejects with why it did not load. */
  readonly loaded: Promise<void>;
  /** Settles once the process is gone; never rejects. */
  readonly gone: Promise<RunnerExit>;
  readonly #child: ChildProcess;
  readonly #folder: RunnerFolder | null;
  readonly #options: RunnerOptions;
  readonly #output: RunnerOutput;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #reason: string | null = null;
  #exit: RunnerExit | null = null;
  #listener: (report: RunnerReport) => void = () => {};
  #settleLoaded: (error: Error | null) => void = () => {};

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#output = new RunnerOutput((line) => options.log.debug({ runner: this.pid }, line));
    const { entry, confinement, memoryBytes, folders } = options;
    this.#folder = folders?.make() ?? null;
    this.#child = confinement.spawn({
      ...{ entry, memoryBytes, hasChannel: true, hasPictures: true },
      reads: this.#folder?.reads ?? [],
      writes: [...(this.#folder?.writes ?? []), ...options.writes],
    });
    this.loaded = new Promise((resolve, reject) => {
      this.#settleLoaded = (error) => (error === null ? resolve() : reject(error));
    });
    this.loaded.catch(() => {});
    const timer = setTimeout(() => this.kill(`it was not loaded within ${options.loadMs / 1000} s`), options.loadMs);
    void this.loaded.catch(() => {}).then(() => clearTimeout(timer));
    this.gone = this.#awaitExit();
    const watch = watchUsage(this.#child, memoryBytes, (reason) => this.kill(reason));
    void this.gone.then(async () => {
      watch.close();
      await this.#folder?.close().catch(() => {}); // the next start removes it
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) if (stream !== null) this.#output.drain(stream);
    this.#child.on("message", (said) => this.#hear(said));
  }

  /** Undefined when it could not even be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isGone(): boolean {
    return this.#exit !== null;
  }

  /** The last lines it wrote, for the log. */
  get lastLines(): readonly string[] {
    return this.#output.tail();
  }

  /** The one listener; nothing is said before `start` is asked for. */
  listen(listener: (report: RunnerReport) => void): void {
    this.#listener = listener;
  }

  /** `attachment`: which one a picture comes from. What is not a picture ends the runner. */
  showPictures(onPicture: (attachment: string, picture: Picture) => void): void {
    const stream = this.#child.stdio[PICTURES] as Readable | null | undefined;
    const reader = new PictureReader();
    stream?.on("error", () => {}); // its exit says more
    stream?.on("data", (chunk: Buffer) => {
      try {
        for (const { captureMs, attachment, bytes } of reader.read(chunk)) onPicture(attachment, { captureMs, bytes });
      } catch {
        stream.destroy();
        this.kill("it sent something that is not a picture");
      }
    });
  }

  /** Rejects with `RunnerRefusal` or `RunnerSilence`. One that does not answer in time is its owner's to end. */
  request(order: RunnerOrder, limitMs = this.#options.replyMs): Promise<unknown> {
    if (this.#exit !== null || !this.#child.connected) return Promise.reject(new RunnerSilence("the runner is gone"));
    if (this.#waiting.size >= MOST_WAITING)
      return Promise.reject(new RunnerRefusal("busy", `${MOST_WAITING} requests wait for the runner already`));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const lent = this.#folder?.lend(order) ?? order;
      const deadline = new Deadline(limitMs, () => {
        this.#waiting.delete(id);
        reject(new RunnerSilence(`the runner did not answer "${order.type}" within ${limitMs / 1000} s`));
      });
      this.#waiting.set(id, { deadline, resolve, reject });
      this.#child.send({ ...lent, id }, (error) => {
        if (error !== null) this.#settle(id, ({ reject }) => reject(new RunnerSilence("the runner is gone")));
      });
    });
  }

  /** At once, for good. `gone` tells when. */
  kill(reason: string): void {
    if (this.#exit !== null) return;
    this.#reason ??= reason;
    this.#child.kill("SIGKILL");
  }

  #hear(said: unknown): void {
    const message = readMessage(said);
    if (message === null) this.kill("it said something that no runner of this version says");
    else if (message.type === "hello") this.#greet(message.protocol);
    else if (message.type === "reply") this.#answer(message);
    else this.#listener(message);
  }

  #greet(protocol: number): void {
    if (protocol === RUNNER_PROTOCOL) this.#settleLoaded(null);
    else this.kill(`it speaks version ${protocol} of the protocol, the server ${RUNNER_PROTOCOL}: install both anew`);
  }

  #answer({ id, error, result }: RunnerMessage & { type: "reply" }): void {
    this.#settle(id, ({ resolve, reject }) => {
      if (error === null) resolve(result);
      else reject(new RunnerRefusal(error.kind, error.detail, error.faults));
    });
  }

  #settle(id: number, settle: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.deadline.close();
    settle(waiting);
  }

  #awaitExit(): Promise<RunnerExit> {
    return new Promise((resolve) => {
      const leave = (code: number | null, signal: string | null): void => {
        if (this.#exit !== null) return;
        this.#exit = { code, signal, reason: this.#reason };
        this.#settleLoaded(new RunnerSilence(describeExit(this.#exit)));
        for (const id of [...this.#waiting.keys()])
          this.#settle(id, ({ reject }) => reject(new RunnerSilence("the runner is gone")));
        resolve(this.#exit);
      };
      this.#child.on("error", (error) => {
        this.#reason ??= error.message;
        if (this.#child.pid === undefined) leave(null, null);
      });
      // Not "close": a grandchild that keeps the streams open must not keep us waiting.
      this.#child.on("exit", leave);
    });
  }
}

/** `the runner was ended by SIGSEGV`, `the runner ended with code 1: …`. */
export function describeExit({ code, signal, reason }: RunnerExit): string {
  if (reason !== null) return `the runner was ended: ${reason}`;
  return signal === null ? `the runner ended with code ${code}` : `the runner was ended by ${signal}`;
}
