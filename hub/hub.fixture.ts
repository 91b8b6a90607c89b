/** A forked hub, controlled over IPC as by the server. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type Static, Type } from "typebox";
import { Reply } from "../ipc/channel.ts";
import { Hello } from "../ipc/parent.ts";
import {
  type Authorization,
  type AuthorizeRequest,
  HubMessage,
  type HubPorts,
  type HubRequest,
  type HubSettings,
} from "../schemas/hub.ts";

const Sent = Type.Union([Hello, Reply, HubMessage]);
type Sent = Static<typeof Sent>;
type Of<T extends Sent["type"]> = Extract<Sent, { type: T }>;

export const LIMITS: HubSettings["limits"] = {
  publishers: 16,
  readersPerStream: 16,
  connections: 100,
  connectionsPerAddress: 100,
  helloMs: 10_000,
  frozenMs: 10_000,
  keylessMs: 30_000,
  stalledMs: 10_000,
  readerBytes: 8 * 2 ** 20,
  unitBytes: 8 * 2 ** 20,
  cacheBytes: 32 * 2 ** 20,
  keyBytes: 2 ** 30,
  hlsIdleMs: 30_000,
  hlsBytes: 64 * 2 ** 20,
  connectMs: 10_000,
  verdictMs: 5000,
};

const PATIENCE_MS = 120_000;
const isMessage = new Ajv2020({ strict: false }).compile<Sent>(Sent);

export interface HubOptions {
  readonly limits?: Partial<HubSettings["limits"]>;
  readonly settings?: Partial<HubSettings>;
  /** Of a hub that was here before. */
  readonly folder?: string;
  /** Lets everybody in where it is not given. */
  readonly decide?: (request: AuthorizeRequest) => Authorization;
}

export class ForkedHub {
  readonly folder: string;
  readonly messages: Sent[] = [];
  readonly child: ChildProcess;
  readonly exited: Promise<number | string>;
  #waiting: (() => void)[] = [];

  private constructor(folder: string, child: ChildProcess, decide: (request: AuthorizeRequest) => Authorization) {
    this.folder = folder;
    this.child = child;
    this.exited = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
    void this.exited.then(() => this.#wake());
    child.on("message", (said) => {
      // The server kills a hub that says such a thing.
      if (!isMessage(said)) throw new Error(`the hub says what it cannot mean: ${JSON.stringify(said)}`);
      const message = said;
      this.messages.push(message);
      if (message.type === "authorize") this.#reply(message.id, decide(message));
      this.#wake();
    });
  }

  static async open({ limits, settings, decide = () => LET_IN, ...more }: HubOptions = {}): Promise<ForkedHub> {
    const folder = more.folder ?? (await mkdtemp(join(tmpdir(), "windhover-test-hub-")));
    const child = fork(fileURLToPath(new URL("hub.mjs", import.meta.url)), [], { serialization: "json", execArgv: [] });
    const hub = new ForkedHub(folder, child, decide);
    await hub.next("hello");
    hub.send({
      type: "start",
      id: 1,
      settings: { ...makeSettings(folder), ...settings, limits: { ...LIMITS, ...limits } },
    });
    return hub;
  }

  send(request: HubRequest): void {
    if (this.child.connected) this.child.send(request);
  }

  #reply(id: number, result: Authorization): void {
    if (this.child.connected) this.child.send({ type: "reply", id, error: null, result });
  }

  all<T extends Sent["type"]>(type: T): Of<T>[] {
    return this.messages.filter((message): message is Of<T> => message.type === type);
  }

  /** The first of that kind that is so, now or later. */
  async next<T extends Sent["type"]>(type: T, isSo: (message: Of<T>) => boolean = () => true): Promise<Of<T>> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = this.all(type).find(isSo);
      if (found !== undefined) return found;
      const isGone = this.child.exitCode !== null || this.child.signalCode !== null;
      if (isGone || performance.now() > until)
        throw new Error(`the hub does not say ${type}, but ${JSON.stringify(this.messages.slice(-5))}`);
      // It says something every second, except before it listens.
      const timer = setTimeout(() => this.#wake(), PATIENCE_MS);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      clearTimeout(timer);
    }
  }

  /** When it listens. Rejects with the reason if it cannot. */
  async ports(): Promise<HubPorts> {
    const { error, result } = await this.next("reply");
    if (error !== null) throw new Error(error.detail);
    return result as HubPorts;
  }

  async rtsp(path: string): Promise<string> {
    return `rtsp://127.0.0.1:${(await this.ports()).rtspPort}/${path}`;
  }

  async rtmp(path: string): Promise<string> {
    return `rtmp://127.0.0.1:${(await this.ports()).rtmpPort}/${path}`;
  }

  /** Kills it if it still runs, and removes its files. */
  async remove(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL");
    await this.exited;
    await rm(this.folder, { recursive: true, force: true });
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export const LET_IN: Authorization = { refusal: null, recording: null };

export const makeSettings = (folder: string): HubSettings => ({
  rtsp: { host: "127.0.0.1", port: 0 },
  rtmp: { host: "127.0.0.1", port: 0 },
  srt: { host: "127.0.0.1", port: 0, latencyMs: 120, passphrase: null },
  httpSocket: join(folder, "hub.sock"),
  recordingsFolder: join(folder, "recordings"),
  untold: [],
  segmentSeconds: 600,
  reserveBytes: 0,
  webrtc: { addresses: [], portFirst: 0, portLast: 0 },
  limits: LIMITS,
});
