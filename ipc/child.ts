/**
 * The parent's end: a child process that is started, watched and ended. It must say `hello` in time and stay within its
 * memory; its output is drained and logged. Its owner constructs it and ends it.
 */
import { type ChildProcess, fork } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { type TSchema, Type } from "typebox";
import { maskCredentials } from "../schemas/mask.ts";
import { Channel, Deadline, type Message, NoReply, processPort, type RequestOf } from "./channel.ts";
import { Hello } from "./parent.ts";

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it was killed, or what it did wrong; null when it ended by itself. */
  readonly reason: string | null;
}

interface ChildOptions<In extends Message> {
  /** In texts: `the media hub`. */
  readonly name: string;
  /** With an IPC channel, and pipes for its output. */
  spawn(): ChildProcess;
  /** The version of its messages. */
  readonly protocol: number;
  /** What it sends, besides `hello` and replies. */
  readonly receives: TSchema;
  readonly log: Logger;
  /** To `hello`. */
  readonly loadMs: number;
  /** It is killed beyond this. */
  readonly memoryBytes?: number;
  onMessage?(message: In): void;
  onRequest?(request: In): Promise<unknown>;
}

const USAGE_MS = 200;
/** GStreamer and inference use some dozens, more on machines with many cores. */
const MAX_THREADS = 2000;
/** What it sent last may arrive after its exit; a grandchild that holds the channel open must not hold this up. */
const LAST_MESSAGES_MS = 1_000;

export class Child<Out extends Message, In extends Message> {
  /** Rejects with `NoReply` when it ends before `hello`. */
  readonly loaded: Promise<void>;
  /** Never rejects. */
  readonly gone: Promise<ChildExit>;
  readonly process: ChildProcess;
  /** It has said `hello`. */
  isLoaded = false;
  readonly #channel: Channel<Out, In>;
  readonly #output: OutputTail;
  #watchdog: Deadline;
  #reason: string | null = null;
  #exit: ChildExit | null = null;

  constructor(options: ChildOptions<In>) {
    const { name, protocol, log, loadMs, memoryBytes } = options;
    this.process = options.spawn();
    this.#output = new OutputTail(this.process, (line) => log.debug({ pid: this.pid }, line));
    this.#watchdog = new Deadline(loadMs, () => this.kill(`it was not loaded within ${loadMs / 1000} s`));
    this.gone = this.#awaitExit();
    let greet = (): void => {};
    this.loaded = new Promise((resolve, reject) => {
      greet = resolve;
      void this.gone.then((exit) => reject(new NoReply(describeExit(name, exit))));
    });
    this.loaded.catch(() => {});
    this.#channel = new Channel<Out, In>(processPort(this.process), {
      peer: name,
      receives: Type.Union([
        Hello,
        ...("anyOf" in options.receives ? (options.receives.anyOf as TSchema[]) : [options.receives]),
      ]),
      onInvalid: (fault) => this.kill(`it sent an invalid message: ${fault}`),
      onMessage: (message) => {
        if (message.type !== "hello") {
          options.onMessage?.(message);
          return;
        }
        const { protocol: spoken } = message as unknown as { readonly protocol: number };
        this.#watchdog.close();
        this.isLoaded = spoken === protocol;
        if (this.isLoaded) greet();
        else this.kill(`it uses version ${spoken} of its messages, the server version ${protocol}: reinstall both`);
      },
      ...(options.onRequest && { onRequest: options.onRequest }),
    });
    if (memoryBytes !== undefined)
      void this.gone.then(watchUsage(this.pid, memoryBytes, (reason) => this.kill(reason)));
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.process.pid;
  }

  get isGone(): boolean {
    return this.#exit !== null;
  }

  /** The last lines it wrote, for the log. */
  get lastLines(): readonly string[] {
    return this.#output.lines;
  }

  send(message: Out): void {
    this.#channel.send(message);
  }

  /** Rejects with `RequestRejected` or `NoReply`. A child that does not reply is its owner's to kill. */
  request(message: RequestOf<Out>, limitMs: number): Promise<unknown> {
    return this.#channel.request(message, limitMs);
  }

  /** Kills it unless `refresh` is called in time, again and again. Replaces an earlier limit. */
  expectWithin(limitMs: number, reason: string): void {
    this.#watchdog.close();
    if (this.#exit === null) this.#watchdog = new Deadline(limitMs, () => this.kill(reason));
  }

  refresh(): void {
    this.#watchdog.refresh();
  }

  /** Ends any limit set by `expectWithin`. */
  unwatch(): void {
    this.#watchdog.close();
  }

  /** At once. `gone` resolves when it has ended. */
  kill(reason: string): void {
    if (this.#exit !== null) return;
    this.#reason ??= reason;
    this.process.kill("SIGKILL");
  }

  #awaitExit(): Promise<ChildExit> {
    return new Promise((resolve) => {
      const settle = (code: number | null, signal: string | null): void => {
        if (this.#exit !== null) return;
        this.#exit = { code, signal, reason: this.#reason };
        this.#watchdog.close();
        resolve(this.#exit);
      };
      this.process.on("error", (error) => {
        this.#reason ??= error.message;
        if (this.pid === undefined) settle(null, null);
      });
      this.process.on("exit", (code, signal) => {
        if (!this.process.connected) return settle(code, signal);
        const timer = setTimeout(() => settle(code, signal), LAST_MESSAGES_MS);
        this.process.on("disconnect", () => {
          clearTimeout(timer);
          settle(code, signal);
        });
      });
    });
  }
}

/**
 * Calls `onExceeded` with the reason while a process uses too much memory or too many threads. Read from outside: what a
 * child reports about itself proves nothing. Returns how to stop.
 */
export function watchUsage(
  pid: number | undefined,
  memoryBytes: number,
  onExceeded: (reason: string) => void,
): () => void {
  const timer = setInterval(async () => {
    const { rssBytes, threads } = await readUsage(pid);
    if (rssBytes > memoryBytes) onExceeded(`it used ${mebibytes(rssBytes)}; the limit is ${mebibytes(memoryBytes)}`);
    if (threads > MAX_THREADS) onExceeded(`it has ${threads} threads; the limit is ${MAX_THREADS}`);
  }, USAGE_MS).unref();
  return () => clearInterval(timer);
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

/** Zero for a process that has ended. */
async function readUsage(pid: number | undefined): Promise<{ rssBytes: number; threads: number }> {
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  const read = (pattern: RegExp): number => Number(pattern.exec(status)?.[1] ?? 0);
  return { rssBytes: read(/^VmRSS:\s+(\d+) kB$/m) * 1024, threads: read(/^Threads:\s+(\d+)$/m) };
}

/** `the runner was ended by SIGSEGV`, `the runner was killed: it used …`. */
export function describeExit(name: string, { code, signal, reason }: ChildExit): string {
  if (reason !== null) return `${name} was killed: ${reason}`;
  return signal === null ? `${name} ended with code ${code}` : `${name} was ended by ${signal}`;
}

/** A child without confinement. The kernel kills it with us, even when it hangs; Ctrl-C reaches only us. */
export function forkChild(entry: URL, env: NodeJS.ProcessEnv): ChildProcess {
  const file = fileURLToPath(entry);
  const loader = file.endsWith(".ts") ? ["--import", import.meta.resolve("tsx")] : [];
  return fork(file, [], {
    execPath: "setpriv",
    execArgv: ["--pdeathsig", "KILL", process.execPath, ...loader],
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
    serialization: "json",
  });
}

const MAX_LINES_PER_SECOND = 20;
const MAX_CHARACTERS = 500;
const TAIL_LINES = 5;

/** What a child writes to its standard streams: always drained, so that it never blocks, and logged in moderation. */
class OutputTail {
  readonly lines: string[] = [];
  readonly #log: (line: string) => void;
  #secondMs = 0;
  #logged = 0;
  #skipped = 0;

  constructor({ stdout, stderr }: ChildProcess, log: (line: string) => void) {
    this.#log = log;
    for (const stream of [stdout, stderr]) if (stream !== null) this.#drain(stream);
  }

  #drain(stream: Readable): void {
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => this.#add(line));
    stream.on("error", () => {});
  }

  #add(text: string): void {
    const line = maskCredentials(text.slice(0, MAX_CHARACTERS));
    this.lines.push(line);
    if (this.lines.length > TAIL_LINES) this.lines.shift();
    const nowMs = Date.now();
    if (nowMs - this.#secondMs >= 1000) {
      if (this.#skipped > 0) this.#log(`${this.#skipped} more lines were skipped`);
      this.#secondMs = nowMs;
      this.#logged = 0;
      this.#skipped = 0;
    }
    this.#logged += 1;
    if (this.#logged > MAX_LINES_PER_SECOND) this.#skipped += 1;
    else this.#log(line);
  }
}
