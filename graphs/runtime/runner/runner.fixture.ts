/** The real runner in a child process, as the server starts it. */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type Static, Type } from "typebox";
import { Reply } from "../../../ipc/channel.ts";
import { Hello } from "../../../ipc/parent.ts";
import { type RunnerJob, RunnerMessage, type RunnerRequest } from "../../../schemas/runner.ts";
import { Watch } from "../../../test/watch.fixture.ts";

export const ENTRY = fileURLToPath(new URL("runner.mjs", import.meta.url));
const Sent = Type.Union([Hello, Reply, RunnerMessage]);
type Sent = Static<typeof Sent>;
const isMessage = new Ajv2020({ strict: false }).compile<Sent>(Sent);

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
type Received<T extends Sent["type"]> = Extract<Sent, { type: T }>;

/** What a runner has sent, and requests to it. */
export abstract class TestRunner {
  /** All its messages, validated. */
  readonly received: Sent[] = [];
  readonly watch = new Watch();
  abstract readonly exited: Promise<readonly [code: number | null, signal: string | null]>;
  protected isOver = false;
  stderr = "";
  #lastId = 0;

  abstract send(message: object): void;

  protected receive(message: unknown): void {
    assert.ok(isMessage(message), `not a message of a runner: ${JSON.stringify(message)}`);
    this.received.push(message);
    this.watch.check();
  }

  of<T extends Sent["type"]>(type: T): readonly Received<T>[] {
    return this.received.filter((message): message is Received<T> => message.type === type);
  }

  /** Names of the states so far. */
  get states(): readonly string[] {
    return this.of("state").map(({ state }) => state);
  }

  get messages(): readonly Received<"message">[] {
    return this.of("message");
  }

  async until<T extends Sent["type"]>(type: T, fits: (message: Received<T>) => boolean = () => true) {
    await this.watch.until(type, () => this.of(type).some(fits) || this.isOver);
    const found = this.of(type).find(fits);
    assert.ok(found, `it ended without "${type}": ${JSON.stringify(this.received.slice(-5))} ${this.stderr}`);
    return found;
  }

  /** Resolves with the result; rejects with the error of the reply. */
  async ask(order: WithoutId<RunnerRequest>): Promise<unknown> {
    const { error, result } = await this.reply(order);
    if (error !== null) throw new Error(`${error.kind}: ${error.detail}`);
    return result;
  }

  async reply(order: WithoutId<RunnerRequest>): Promise<Reply> {
    const id = ++this.#lastId;
    this.send({ ...order, id });
    return this.until("reply", (reply) => reply.id === id);
  }

  async start(job: Partial<RunnerJob> & { readonly sourceUri: string }): Promise<void> {
    await this.until("hello");
    await this.ask({ type: "start", job: jobOn(job) });
  }
}

export class ForkedRunner extends TestRunner {
  readonly child: ChildProcess;
  readonly exited: Promise<readonly [code: number | null, signal: string | null]>;

  constructor(entry = ENTRY) {
    super();
    const env = { ...process.env, MALLOC_ARENA_MAX: "2" };
    this.child = fork(entry, [], { execArgv: [], env, stdio: ["ignore", "pipe", "pipe", "ipc", "pipe"] });
    this.child.stdout?.resume();
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.child.on("message", (message) => this.receive(message));
    this.exited = once(this.child, "exit").then((result) => {
      this.isOver = true;
      this.watch.check();
      return result as [number | null, string | null];
    });
    after(() => this.child.kill("SIGKILL"));
  }

  send(message: object): void {
    this.child.send(message);
  }
}

export const jobOn = (job: Partial<RunnerJob> & { readonly sourceUri: string }): RunnerJob => ({
  uuid: "01890000-0000-7000-8000-000000000001",
  graph: "watched",
  graphText: WATCHED,
  params: {},
  positionNs: "0",
  firstTrackId: 1,
  attach: [],
  giveUpSeconds: 5,
  ...job,
});

/** Without a model: one printed line for each frame. */
export const WATCHED = `
graph: watched
about: Prints a line for every frame.
params:
  every: { type: integer, minimum: 1, default: 1, live: true }
chains:
  main:
    - source
    - decode
    - stage: { buffers: 500 } # so that a busy machine drops none
    - tee: { name: frames }
  data:
    - from: frames
    - stage: { buffers: 500 }
    - print: { every: $every }
slots:
  feed:
    chain:
      - from: frames
      - stage
      - jpegenc: { quality: 80 }
      - feed
`;

/** PTS in milliseconds of the printed frames. */
export const times = (runner: TestRunner): readonly number[] =>
  runner.messages.map(({ message }) => Number((JSON.parse(String(message.line)) as { pts_ms: number }).pts_ms));
