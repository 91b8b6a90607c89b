/**
 * A runner in the process of the test, for what does not depend on its own process: to load a process takes more processor
 * time than most tests of a runner. It sends no pictures.
 */
import { after } from "node:test";
import { loadElements } from "../../../elements/index.ts";
import { Channel, type Port } from "../../../ipc/channel.ts";
import { allowConnections } from "../../../native/gstreamer.ts";
import { RUNNER_PROTOCOL, type RunnerMessage, RunnerRequest } from "../../../schemas/runner.ts";
import { loadRegistry } from "../registry.ts";
import { TestRunner } from "./runner.fixture.ts";
import { Runner } from "./runner.ts";

const knowledge = { elements: await loadElements(), registry: loadRegistry() };
/** A runner restricts the connections of its process: the files after this one make some to this machine. */
const HERE = [{ host: "127.0.0.1", addresses: [] }];

export class HostedRunner extends TestRunner {
  readonly exited: Promise<readonly [code: number | null, signal: string | null]>;
  #deliver: (message: unknown) => void = () => {};

  constructor() {
    super();
    const port: Port = {
      isOpen: true,
      send: (message, done) => {
        this.receive(JSON.parse(JSON.stringify(message)));
        done();
      },
      onMessage: (listener) => {
        this.#deliver = listener;
      },
      onClose() {},
    };
    const channel = new Channel<RunnerMessage, RunnerRequest>(port, {
      peer: "the test",
      receives: RunnerRequest,
      onRequest: (request) => runner.request(request),
      onMessage: (message) => {
        if (message.type === "lease") runner.extendLease(message.untilMs);
      },
      onInvalid: (fault) => this.receive({ type: "log", level: "warn", node: "", message: `ignored: ${fault}` }),
    });
    const runner = new Runner(knowledge, channel);
    this.exited = this.#end(runner, channel);
    this.receive({ type: "hello", protocol: RUNNER_PROTOCOL });
    after(async () => {
      await runner.stop();
      allowConnections(HERE);
    });
  }

  async #end(runner: Runner, channel: { idle(): Promise<void> }): Promise<[number, null]> {
    await runner.over;
    await channel.idle();
    this.isOver = true;
    this.watch.check();
    return [0, null];
  }

  send(message: object): void {
    this.#deliver(JSON.parse(JSON.stringify(message)));
  }
}
