/** A TCP server that keeps what it is sent, and answers as the test says: for what must not be connected to. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after } from "node:test";

export interface Listener {
  readonly port: number;
  readonly connections: Socket[];
  /** Chunk by chunk. */
  readonly received: string[];
}

/** Closed with the test. */
export async function listen(answer: (request: string) => string = () => "", host = "127.0.0.1"): Promise<Listener> {
  const connections: Socket[] = [];
  const received: string[] = [];
  const server = createServer((socket) => {
    connections.push(socket.on("error", () => {}));
    socket.on("data", (data) => {
      received.push(data.toString("latin1"));
      const text = answer(data.toString("latin1"));
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

/** Of an RTSP server to a request. */
export function replyRtsp(request: string, status: string, headers: readonly string[] = [], body = ""): string {
  const sequence = /^CSeq: *(\d+)/im.exec(request)?.[1] ?? "0";
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  return [`RTSP/1.0 ${status}`, `CSeq: ${sequence}`, ...headers, ...length, "", body].join("\r\n");
}

export const METHODS = "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN";

/** An RTSP server that sends everybody elsewhere. */
export const listenRedirecting = (location: string): Promise<Listener> =>
  listen((request) =>
    request.startsWith("OPTIONS")
      ? replyRtsp(request, "200 OK", [METHODS])
      : replyRtsp(request, "302 Moved Temporarily", [`Location: ${location}`]),
  );
