/**
 * Runners that follow their script in the process of the test, for tests of what the service does with them: a process of
 * Node for each would cost most of the processor time of these tests. What stands for such a process is `sleep`: it has a
 * pid, a priority, and ends when it is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import type { Confinement } from "../confinement/confinement.ts";
import { followScript } from "./runner-script.fixture.mjs";

const copy = (message: unknown): unknown => JSON.parse(JSON.stringify(message));

function needsProcess(): never {
  throw new Error("a runner that hangs or uses memory needs a process of its own: hasProcesses");
}

/** As `ChildProcess` with an IPC channel, as far as `ipc/child.ts` uses it. */
class ScriptedChild extends EventEmitter {
  readonly stdout = null;
  readonly stderr = null;
  readonly stdio = [];
  connected = true;
  readonly #process = spawn("setpriv", ["--pdeathsig", "KILL", "sleep", "infinity"], {
    stdio: "ignore",
    detached: true,
  });
  readonly #script: ReturnType<typeof followScript>;
  #code: number | null = null;
  #isEnding = false;

  constructor() {
    super();
    this.#process.on("error", (error) => this.emit("error", error));
    this.#process.on("exit", (_, signal) => this.#end(signal));
    const exit = (code: number): void => {
      if (this.#isEnding) return;
      this.#code = code;
      this.#crash();
    };
    const send = (message: unknown): void => {
      if (this.#isEnding) return;
      const sent = copy(message);
      setImmediate(() => this.emit("message", sent));
    };
    this.#script = followScript(
      { pid: this.pid, send, exit, crash: () => this.#crash(), grow: needsProcess, hang: needsProcess },
      process.env.SCRIPTED_HELLO ?? "",
    );
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Delivered later, in order: the sender is not called back before this returns. */
  send(message: object, _handle: undefined, _options: undefined, done: () => void): void {
    const received = copy(message) as { type: string };
    setImmediate(() => {
      if (!this.#isEnding) this.#script.receive(received);
      done();
    });
  }

  kill(signal: NodeJS.Signals): boolean {
    return this.#process.kill(signal);
  }

  #crash(): void {
    this.#isEnding = true;
    this.#process.kill("SIGKILL");
  }

  #end(signal: NodeJS.Signals | null): void {
    this.#isEnding = true;
    this.#script.close();
    // Behind the messages that it has sent.
    setImmediate(() => {
      this.connected = false;
      this.emit("disconnect");
      this.emit("exit", this.#code, this.#code === null ? signal : null);
    });
  }
}

/** In place of one that starts confined processes. */
export const SCRIPTED_CHILDREN = {
  account: null,
  spawn: () => new ScriptedChild() as unknown as ChildProcess,
} as unknown as Confinement;
