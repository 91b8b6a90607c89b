/** The real API on a real port, with endpoints defined by the test. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type Logger, pino } from "pino";
import { Type } from "typebox";
import type { Config } from "../../schemas/config.ts";
import { loadConfig } from "../config/load.ts";
import { ServiceError } from "../service-error.ts";
import { TEST_SECRETS } from "../store/sealing/test-key.fixture.ts";
import { ALL_RIGHTS, type User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { type AppDeps, type RunningApp, startApp } from "./app.ts";
import { type AnyEndpoint, defineEndpoints } from "./endpoint.ts";

export const define = defineEndpoints("Operations");

/** Of an endpoint under test: public, answers with any object. */
export const SHAPE = {
  summary: "Answers.",
  access: "none",
  answers: { 200: { description: "The answer.", schema: Type.Object({}) } },
} as const;

export const makeUser = (username: string, limits: Partial<User["limits"]> = {}): User => ({
  uuid: newUuid(),
  username,
  product: "test",
  masterUuid: null,
  hasTrackLogger: false,
  hasRecording: false,
  hasEnhancement: false,
  isGraphAuthor: false,
  isOperator: false,
  limits: {
    processes: 4,
    sources: 4,
    outputsRegistered: 4,
    outputsActive: 4,
    alerts: 100,
    subscriptions: 1000,
    videoBytes: 1,
    storageBytes: 1,
    requestsPerMinute: 100_000,
    socketClients: 1,
    ...limits,
  },
  expiresAt: null,
  key: ALL_RIGHTS,
});

/** Settings by their environment variables: `HTTP_BODY_BYTES`. */
export function makeConfig(settings: Readonly<Record<string, string>> = {}): Config {
  const env = Object.entries({
    HTTP_PORT: "0",
    HTTP_CHECK_ANSWERS: "true",
    NETWORK_ALLOW: "127.0.0.0/8,::1",
    SECRETS_KEY: TEST_SECRETS.key ?? "",
    ...settings,
  });
  return loadConfig({
    file: null,
    folder: "/nowhere",
    env: Object.fromEntries(env.map(([name, value]) => [`WINDHOVER_${name}`, value])),
  }).config;
}

export interface TestApp extends RunningApp {
  /** All log lines so far, as JSON. */
  readonly logged: string[];
  /** `fetch` by path. */
  call(path: string, init?: RequestInit): Promise<Response>;
  /** A connection for raw bytes. */
  connectRaw(): RawClient;
  /** Resolves with everything received when the server has closed the connection. */
  sendRaw(text: string): Promise<string>;
}

/** A connection that keeps everything it receives. */
export class RawClient {
  readonly socket: Socket;
  #kept = "";

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1").setEncoding("utf8");
    this.socket.on("error", () => {});
    this.socket.on("data", (part: string) => {
      this.#kept += part;
    });
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** The head of the next answer, as soon as it has arrived. */
  async readHead(): Promise<string> {
    for (;;) {
      const end = this.#kept.indexOf("\r\n\r\n");
      if (end !== -1) {
        const head = this.#kept.slice(0, end);
        this.#kept = this.#kept.slice(end + 4);
        return head;
      }
      if (this.socket.closed) throw new Error(`the connection was closed after ${JSON.stringify(this.#kept)}`);
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    }
  }

  /** The rest of the data, when the server has closed the connection. */
  async readAll(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, "close");
    return this.#kept;
  }

  close(): void {
    this.socket.destroy();
  }
}

type Parts = Partial<AppDeps> & { readonly settings?: Readonly<Record<string, string>> };

/** Without `authenticate`, `ada` is the only valid key. */
export async function openApp(endpoints: readonly AnyEndpoint[], parts: Parts = {}): Promise<TestApp> {
  const logged: string[] = [];
  const log: Logger = pino({ level: "debug", base: null }, { write: (line: string) => logged.push(line) });
  const ada = makeUser("ada");
  const running = await startApp({
    config: makeConfig(parts.settings),
    endpoints,
    authenticate: async (key) => {
      if (key === "ada") return ada;
      throw new ServiceError(key === null ? "api_key_missing" : "api_key_invalid", { detail: "Send a valid key." });
    },
    log,
    ...parts,
  });
  return {
    ...running,
    logged,
    call: (path, init) => fetch(`${running.url}${path}`, init),
    connectRaw: () => new RawClient(running.port),
    sendRaw: (text) => new RawClient(running.port).send(text).readAll(),
  };
}
