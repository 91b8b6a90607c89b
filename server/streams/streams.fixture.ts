/** The streams behind the real API and real sockets, with processes that do what the test says. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { WebSocket } from "ws";
import { Problem } from "../../schemas/api/problem.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { poll } from "../../test/watch.fixture.ts";
import { makeConfig, makeUser } from "../api/app.fixture.ts";
import { startApp } from "../api/app.ts";
import { streamEndpoints } from "../api/streams.ts";
import { createSigner, liveOf } from "../keys/signed-urls.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { TelemetryLimits } from "../telemetry/channels.ts";
import type { User } from "../user.ts";
import { checkBy } from "../validation.ts";
import type { StreamLimits } from "./socket-client.ts";
import { StagedProcess, StagedProcesses } from "./staged-processes.fixture.ts";
import { Streams } from "./streams.ts";

/** Keys are the names of users. `settings`: as the environment has them. */
export async function openStage(
  limits: Partial<StreamLimits> = {},
  settings: Readonly<Record<string, string>> = {},
  telemetryLimits: Partial<TelemetryLimits> = {},
) {
  const config = makeConfig(settings);
  const users = { ada: makeUser("ada", { socketClients: config.limits.socket_clients }), bob: makeUser("bob") };
  /** Addresses that wrong keys came from. */
  const failures: string[] = [];
  const revoked = new Set<string>();
  const authenticate = async (key: string | null, address: string): Promise<User> => {
    if (revoked.has(key ?? "")) throw new ServiceError("api_key_invalid", { detail: "It was revoked." });
    if (key === "ada" || key === "bob") return users[key];
    if (key !== null) failures.push(address);
    throw new ServiceError(key === null ? "api_key_missing" : "api_key_invalid", { detail: "Send a valid key." });
  };
  const signer = createSigner(Buffer.alloc(32, 7), { urlSeconds: 600, watchSeconds: 600 });
  const processes = new StagedProcesses();
  const streams = new Streams({
    config: config.streams,
    limits,
    processes,
    authenticate,
    expectSource: async () => {},
    findOwner: async () => users.ada,
    isSigned: (uuid, token) => signer.isGood(liveOf(uuid), token),
  });
  const running = await startApp({
    config,
    endpoints: streamEndpoints(streams, config.streams.viewers, { signer, seconds: 600 }),
    authenticate,
    isSigned: (resource, token) => signer.isGood(resource, token),
    log: pino({ level: "silent" }),
    onUpgrade: streams.upgrade,
  });
  return {
    users,
    failures,
    /** Keys that are no longer valid. */
    revoked,
    signer,
    streams,
    port: running.port,
    url: running.url,
    start: (offers?: readonly string[], setting?: TelemetrySetting | null): StagedProcess =>
      processes.add(
        new StagedProcess(users.ada, {
          ...{ config, telemetryLimits },
          ...(offers !== undefined && { offers }),
          ...(setting !== undefined && { setting }),
        }),
      ),
    async close(): Promise<void> {
      processes.close();
      await streams.close();
      await running.close(0);
    },
  };
}
export type Stage = Awaited<ReturnType<typeof openStage>>;

/** A websocket client that keeps what it was sent. */
export class Listener {
  readonly socket: WebSocket;
  readonly messages: JsonRecord[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => {
      this.messages.push(JSON.parse(data.toString()));
      socket.emit("kept");
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  static async open(
    { port }: { readonly port: number },
    { uuid }: { readonly uuid: string },
    channel: string,
  ): Promise<Listener> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/process/${uuid}/${channel}?api_key=ada`);
    const listener = new Listener(socket);
    await once(socket, "open");
    return listener;
  }

  /** Waits for this many. */
  async expect(count: number): Promise<readonly JsonRecord[]> {
    while (this.messages.length < count) await once(this.socket, "kept");
    return this.messages;
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

const HANDSHAKE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Key": Buffer.alloc(16).toString("base64"),
  "Sec-WebSocket-Version": "13",
};

const checkProblem = checkBy(Problem);

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly headers: IncomingHttpHeaders;
}

/** Asks for a websocket that must be refused with a problem. `undefined` leaves a header out. */
export async function refusalOf(
  { port }: { readonly port: number },
  path: string,
  headers: Readonly<Record<string, string | undefined>> = {},
  method = "GET",
): Promise<Refusal> {
  const all = Object.entries({ ...HANDSHAKE, ...headers }).filter(([, value]) => value !== undefined);
  const asked = request({ port, path, method, headers: Object.fromEntries(all) as Record<string, string> });
  asked.end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const problem = JSON.parse(await text(answer));
  assert.equal(answer.headers["content-type"], "application/problem+json");
  assert.deepEqual(checkProblem(problem), []);
  assert.equal(problem.status, answer.statusCode);
  return { status: problem.status, code: problem.code, detail: problem.detail, headers: answer.headers };
}

/** Resolves when it holds. */
export const eventually = (holds: () => boolean | Promise<boolean>, what: string): Promise<boolean> =>
  poll(what, holds);
