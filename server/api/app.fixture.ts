/** The real API on a real port, with endpoints of the test's own. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type Logger, pino } from "pino";
import type { Config } from "../../schemas/config.ts";
import { loadConfig } from "../config/load.ts";
import { ServiceError } from "../service-error.ts";
import { TEST_SECRETS } from "../store/sealing/test-key.fixture.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { type AppDeps, createApp, type RunningApp } from "./app.ts";
import type { AnyEndpoint } from "./endpoint.ts";

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
    ...limits,
  },
  expiresAt: null,
});

/** Of the environment: `HTTP_BODY_BYTES`. */
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
  /** Everything that was logged so far, as lines of JSON. */
  readonly logged: string[];
  /** As `fetch`, by path. */
  call(path: string, init?: RequestInit): Promise<Response>;
  /** A connection to send bytes on as they are. */
  connectRaw(): RawClient;
  /** Resolves with all that came back when the server has closed the connection. */
  sendRaw(text: string): Promise<string>;
}

/** A connection on which everything that comes is kept. */
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

  /** The next answer without its body, as soon as its headers are there. */
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

  /** All that is left, when the server has closed the connection. */
  async readAll(): Promise<string> {
    if (!this.socket.closed) await once(this.socket, "close");
    return this.#kept;
  }

  close(): void {
    this.socket.destroy();
  }
}

type Parts = Partial<AppDeps> & { readonly settings?: Readonly<Record<string, string>> };

/** Without `authenticate`, the key `ada` is right and no other. */
export async function openApp(endpoints: readonly AnyEndpoint[], parts: Parts = {}): Promise<TestApp> {
  const logged: string[] = [];
  const log: Logger = pino({ level: "debug", base: null }, { write: (line: string) => logged.push(line) });
  const ada = makeUser("ada");
  const app = createApp({
    config: makeConfig(parts.settings),
    endpoints,
    authenticate: async (key) => {
      if (key === "ada") return ada;
      throw new ServiceError(key === null ? "api_key_missing" : "api_key_invalid", { detail: "Send a valid key." });
    },
    log,
    ...parts,
  });
  const running = await app.listen();
  return {
    ...running,
    logged,
    call: (path, init) => fetch(`${running.url}${path}`, init),
    connectRaw: () => new RawClient(running.port),
    sendRaw: (text) => new RawClient(running.port).send(text).readAll(),
  };
}
