/**
 * The media hub as the server sees it: a child process that is told what to listen on, and that ends with us. Owner: the
 * `MediaHub`, which ends it and starts the next one.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { Deadline } from "../../ipc/deadline.ts";
import { HUB_PROTOCOL, type HubMessage, type HubRequest, type HubSettings } from "../../schemas/hub.ts";
import { WITHOUT_SECRETS } from "../config/secret-variables.ts";
import { RunnerOutput } from "../processes/runner-output.ts";
import { readHubMessage } from "./hub-messages.ts";

/** All that it says once it listens. */
export type HubReport = Exclude<HubMessage, { type: "hello" | "ready" | "failed" }>;

export type RecordingReport = HubReport & { readonly type: "segment" | "recorded" | "repaired" };

export interface HubPorts {
  readonly rtsp: number;
  readonly rtmp: number;
}

/** It does not listen: `isRefusal` when it said so itself. */
export class HubFault extends Error {
  override readonly name = "HubFault";
  readonly isRefusal: boolean;

  constructor(message: string, isRefusal: boolean) {
    super(message);
    this.isRefusal = isRefusal;
  }
}

export interface HubExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why we ended it; null when it went by itself. */
  readonly reason: string | null;
}

export interface HubProcessParts {
  readonly entry: URL;
  readonly settings: HubSettings;
  readonly log: Logger;
  /** To `ready`. */
  readonly loadMs: number;
  /** It tells numbers every second: one that says nothing for so long hangs. */
  readonly silentMs: number;
  onReport(report: HubReport): void;
}

export class HubProcess {
  /** Rejects with `HubFault`. */
  readonly ready: Promise<HubPorts>;
  /** Settles once the process is gone; never rejects. */
  readonly gone: Promise<HubExit>;
  readonly #child: ChildProcess;
  readonly #parts: HubProcessParts;
  readonly #output: RunnerOutput;
  #isReady = false;
  #reason: string | null = null;
  #exit: HubExit | null = null;
  #watchdog: Deadline;
  #resolveReady: (ports: HubPorts) => void = () => {};
  #rejectReady: (fault: HubFault) => void = () => {};

  constructor(parts: HubProcessParts) {
    const { log, loadMs, entry } = parts;
    this.#parts = parts;
    this.#child = spawnHub(entry);
    this.#output = new RunnerOutput((line) => log.debug({ hub: this.pid }, line));
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    this.ready.catch(() => {});
    this.gone = this.#awaitExit();
    this.#watchdog = new Deadline(loadMs, () => this.kill(`it did not listen within ${loadMs / 1000} s`));
    for (const stream of [this.#child.stdout, this.#child.stderr]) if (stream !== null) this.#output.drain(stream);
    this.#child.on("message", (said) => this.#hear(said));
  }

  /** Undefined when it could not even be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The last lines it wrote, for the log. */
  get lastLines(): readonly string[] {
    return this.#output.tail();
  }

  /** To one that is gone: nothing. */
  send(request: HubRequest): void {
    if (this.#exit === null && this.#child.connected) this.#child.send(request, () => {});
  }

  /** Cleanly within the limit, or else killed. Resolves when it is gone. */
  async stop(limitMs: number): Promise<HubExit> {
    if (this.#exit !== null) return this.gone;
    // One that does not listen yet has nothing to bring to an end.
    if (!this.#isReady) this.kill("it was told to stop");
    this.#watch(limitMs, `it did not stop within ${limitMs / 1000} s`);
    this.#reason ??= "it was told to stop";
    this.send({ type: "stop" });
    return this.gone;
  }

  /** At once. */
  kill(reason: string): void {
    if (this.#exit !== null) return;
    this.#reason = reason;
    this.#child.kill("SIGKILL");
  }

  #watch(limitMs: number, reason: string): void {
    this.#watchdog.close();
    this.#watchdog = new Deadline(limitMs, () => this.kill(reason));
  }

  #hear(said: unknown): void {
    const message = readHubMessage(said);
    if (message === null) this.kill("it said something that no hub of this version says");
    else if (message.type === "hello") this.#greet(message.protocol);
    else if (message.type === "failed") this.#rejectReady(new HubFault(message.detail, true));
    else if (message.type === "ready") this.#open({ rtsp: message.rtspPort, rtmp: message.rtmpPort });
    else {
      if (this.#reason === null && message.type === "stats") this.#watchdog.refresh();
      this.#parts.onReport(message);
    }
  }

  #greet(protocol: number): void {
    if (protocol === HUB_PROTOCOL) this.send({ type: "start", settings: this.#parts.settings });
    else this.kill(`it speaks version ${protocol} of the protocol, the server ${HUB_PROTOCOL}: install both anew`);
  }

  #open(ports: HubPorts): void {
    const { silentMs } = this.#parts;
    this.#isReady = true;
    if (this.#reason === null) this.#watch(silentMs, `it said nothing for ${silentMs / 1000} s`);
    this.#resolveReady(ports);
  }

  #awaitExit(): Promise<HubExit> {
    return new Promise((resolve) => {
      const leave = (code: number | null, signal: string | null): void => {
        if (this.#exit !== null) return;
        this.#exit = { code, signal, reason: this.#reason };
        this.#watchdog.close();
        this.#rejectReady(new HubFault(describeHubExit(this.#exit), false));
        resolve(this.#exit);
      };
      this.#child.on("error", (error) => {
        this.#reason ??= error.message;
        if (this.#child.pid === undefined) leave(null, null);
      });
      // What it said last arrives before its channel closes, and that may be after its exit.
      let exit: readonly [number | null, string | null] | null = null;
      this.#child.on("exit", (code, signal) => {
        exit = [code, signal];
        if (!this.#child.connected) leave(code, signal);
      });
      this.#child.on("disconnect", () => {
        if (exit !== null) leave(...exit);
      });
    });
  }
}

/** `the media hub was ended by SIGSEGV`. */
export function describeHubExit({ code, signal, reason }: HubExit): string {
  if (reason !== null) return `the media hub was ended: ${reason}`;
  return signal === null ? `the media hub ended with code ${code}` : `the media hub was ended by ${signal}`;
}

/** The kernel ends it with us, even one that hangs; Ctrl-C is for us alone. */
function spawnHub(entry: URL): ChildProcess {
  const needsTsx = entry.pathname.endsWith(".ts");
  return fork(fileURLToPath(entry), [], {
    execPath: "setpriv",
    execArgv: [
      ...["--pdeathsig", "KILL", process.execPath],
      ...(needsTsx ? ["--import", import.meta.resolve("tsx")] : []),
    ],
    // It listens to strangers: of what is ours to keep it needs nothing.
    env: { ...process.env, ...WITHOUT_SECRETS },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
    serialization: "json",
  });
}
