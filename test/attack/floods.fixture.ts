/** Denial-of-service attacks, each from one address and with at most one key. */
import { randomBytes } from "node:crypto";
import { Agent, type AgentOptions, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Victim {
  readonly ports: { readonly http: number; readonly rtsp: number; readonly rtmp: number };
  readonly address: string;
  readonly key: string;
}

export interface Flood {
  readonly name: string;
  run(victim: Victim, signal: AbortSignal): Promise<void>;
}

const CONNECTIONS = 200;
const DRIP_MS = 500;
/** Delay before a retry. */
const RETRY_MS = 20;

interface Shot {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends requests as fast as they are answered, over a number of connections. */
async function shoot(victim: Victim, signal: AbortSignal, shot: () => Shot, connections = CONNECTIONS): Promise<void> {
  const options: AgentOptions & { localAddress: string } = {
    keepAlive: true,
    maxSockets: connections,
    localAddress: victim.address,
  };
  const agent = new Agent(options);
  const one = () =>
    new Promise<void>((resolve) => {
      const { method = "GET", path, headers = {}, body } = shot();
      const where = { host: "127.0.0.1", port: victim.ports.http, localAddress: victim.address, method, path, headers };
      const outgoing = request({ ...where, agent, timeout: 20_000 }, (incoming) => {
        incoming.resume().once("close", resolve);
      });
      outgoing.once("timeout", () => outgoing.destroy());
      outgoing.once("error", () => void sleep(RETRY_MS).then(resolve));
      outgoing.end(body);
    });
  const lane = async () => {
    while (!signal.aborted) await one();
  };
  await Promise.all(Array.from({ length: connections }, lane));
  agent.destroy();
}

/** Holds sockets open and reopens them when they are closed. */
async function hold(
  { address }: Victim,
  port: number,
  signal: AbortSignal,
  onConnect: (socket: Socket) => void,
  connections = CONNECTIONS,
): Promise<void> {
  const open = new Set<Socket>();
  const lane = async () => {
    while (!signal.aborted) {
      const socket = connect({ port, host: "127.0.0.1", localAddress: address });
      open.add(socket);
      socket.on("error", () => {}).once("connect", () => onConnect(socket));
      await new Promise<void>((resolve) => socket.once("close", () => resolve()));
      open.delete(socket);
      await sleep(RETRY_MS);
    }
  };
  signal.addEventListener("abort", () => {
    for (const socket of open) socket.destroy();
  });
  await Promise.all(Array.from({ length: connections }, lane));
}

function drip(socket: Socket, beginning: string, piece: () => string | Buffer): void {
  socket.write(beginning);
  const timer = setInterval(() => socket.write(piece()), DRIP_MS);
  socket.once("close", () => clearInterval(timer));
}

const json = (key: string, value: unknown, method = "POST"): Omit<Shot, "path"> => ({
  method,
  headers: { api_key: key, "content-type": "application/json" },
  body: JSON.stringify(value),
});

const GRAPH = `graph: mine
params:
  name: { type: string, pattern: "(a+)+$", default: "${"a".repeat(40)}!" }
chains:
  main: [source, decode, fakesink]
`;

export const FLOODS: readonly Flood[] = [
  { name: "no key: requests", run: (victim, signal) => shoot(victim, signal, () => ({ path: "/status" })) },
  {
    name: "no key: long targets",
    run: (victim, signal) => shoot(victim, signal, () => ({ path: `/${"?".repeat(15_000)}` })),
  },
  {
    name: "no key: targets like URLs with passwords",
    run: (victim, signal) => shoot(victim, signal, () => ({ path: `/?${"a://".repeat(3_700)}` })),
  },
  {
    name: "no key: wrong keys",
    run: (victim, signal) =>
      shoot(victim, signal, () => ({ path: "/sources", headers: { api_key: randomBytes(32).toString("hex") } })),
  },
  {
    name: "no key: the OpenAPI document, requested and never read",
    run: (victim, signal) =>
      hold(
        victim,
        victim.ports.http,
        signal,
        (socket) => {
          socket.pause();
          socket.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1700));
        },
        3,
      ),
  },
  {
    name: "no key: bodies that never arrive",
    run: (victim, signal) =>
      hold(victim, victim.ports.http, signal, (socket) =>
        drip(socket, "POST /alert HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", () => "x"),
      ),
  },
  {
    name: "no key: GET with a body that is never sent",
    run: (victim, signal) =>
      hold(victim, victim.ports.http, signal, (socket) => {
        socket.write("GET /status HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n");
      }),
  },
  {
    name: "no key: headers that never end",
    run: (victim, signal) =>
      hold(victim, victim.ports.http, signal, (socket) =>
        drip(socket, "GET /status HTTP/1.1\r\nHost: x\r\n", () => `X-${randomBytes(4).toString("hex")}: y\r\n`),
      ),
  },
  {
    name: "no key: slow requests on the RTSP port",
    run: (victim, signal) =>
      hold(victim, victim.ports.rtsp, signal, (socket) =>
        drip(socket, "OPTIONS rtsp://127.0.0.1/a RTSP/1.0\r\nCSeq: 1\r\n", () => "X-A: b\r\n"),
      ),
  },
  {
    name: "no key: slow handshakes on the RTMP port",
    run: (victim, signal) =>
      hold(victim, victim.ports.rtmp, signal, (socket) => drip(socket, "\x03", () => randomBytes(3))),
  },
  {
    name: "a key: requests",
    run: (victim, signal) => shoot(victim, signal, () => ({ path: "/sources", headers: { api_key: victim.key } })),
  },
  {
    name: "a key: an alias of 250,000 characters",
    run: (victim, signal) =>
      shoot(
        victim,
        signal,
        () => ({ path: "/stream", ...json(victim.key, { alias: " ".repeat(250_000), stream_type: "rtsp" }) }),
        4,
      ),
  },
  {
    name: "a key: thousands of faults in one body",
    run: (victim, signal) => {
      const body = { alias: "a", type: "flow-control", output: Array.from({ length: 19_000 }, () => ({})) };
      const shot = { path: "/alert", ...json(victim.key, body) };
      return shoot(victim, signal, () => shot, 4);
    },
  },
  {
    name: "a key: thousands of names",
    run: (victim, signal) => {
      const class_names = Array.from({ length: 19_000 }, (_, i) => `c${i}`);
      const shot = {
        path: "/alert",
        ...json(victim.key, { alias: "a", type: "flow-control", filter: { class_names } }),
      };
      return shoot(victim, signal, () => shot, 4);
    },
  },
  {
    name: "a key: graphs that are slow to check",
    run: (victim, signal) => {
      const headers = { api_key: victim.key, "content-type": "application/yaml" };
      return shoot(victim, signal, () => ({ method: "POST", path: "/graphs/validate", headers, body: GRAPH }), 40);
    },
  },
  {
    name: "a key: event streams",
    run: (victim, signal) =>
      hold(victim, victim.ports.http, signal, (socket) => {
        socket.write(`GET /processes HTTP/1.1\r\nHost: x\r\napi_key: ${victim.key}\r\nConnection: keep-alive\r\n\r\n`);
      }),
  },
];
