/** TCP ports for tests: free ones, and a server that records what it receives. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after } from "node:test";

const FIRST = 10_000;
const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

/**
 * A port for a server that is started later, or restarted. Outside the range of ephemeral ports: between two starts
 * another test could get such a port.
 */
export async function findFreePort(): Promise<number> {
  const end = Number(readFileSync(RANGE, "utf8").split(/\s+/)[0]);
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (end - FIRST));
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Settings of a media hub that is restarted. */
export async function findHubPorts(prefix = ""): Promise<Record<string, string>> {
  const names = ["RTSP_PORT", "RTMP_PORT", "SRT_PORT"];
  const ports = new Set<number>();
  while (ports.size < names.length) ports.add(await findFreePort());
  return Object.fromEntries([...ports].map((port, i) => [prefix + names[i], String(port)]));
}

export const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });

export interface Listener {
  readonly port: number;
  readonly connections: Socket[];
  /** Received chunks. */
  readonly received: string[];
}

/** A TCP server whose responses the test defines; without any, for addresses that must not be connected to. Closed with the test. */
export async function listen(respond: (request: string) => string = () => "", host = "127.0.0.1"): Promise<Listener> {
  const connections: Socket[] = [];
  const received: string[] = [];
  const server = createServer((socket) => {
    connections.push(socket.on("error", () => {}));
    socket.on("data", (data) => {
      received.push(data.toString("latin1"));
      const text = respond(data.toString("latin1"));
      if (text !== "") socket.write(text);
    });
  }).listen(0, host);
  await once(server, "listening");
  after(() => {
    server.close();
    for (const socket of connections) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, connections, received };
}

/** The response of an RTSP server to a request. */
export function replyRtsp(request: string, status: string, headers: readonly string[] = [], body = ""): string {
  const sequence = /^CSeq: *(\d+)/im.exec(request)?.[1] ?? "0";
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  return [`RTSP/1.0 ${status}`, `CSeq: ${sequence}`, ...headers, ...length, "", body].join("\r\n");
}

export const METHODS = "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN";

/** An RTSP server that redirects every request. */
export const listenRedirecting = (location: string): Promise<Listener> =>
  listen((request) =>
    request.startsWith("OPTIONS")
      ? replyRtsp(request, "200 OK", [METHODS])
      : replyRtsp(request, "302 Moved Temporarily", [`Location: ${location}`]),
  );
