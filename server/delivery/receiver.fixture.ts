/** A webhook receiver with responses chosen by the test. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  /** Without a path. */
  readonly url: string;
  readonly received: Received[];
  /** Those of one path. */
  at(path: string): readonly Received[];
}

type Answer = (response: ServerResponse, received: Received, earlier: number) => void;

/** One answer for each path; `earlier`: how many requests it had before. Closed with the test. */
export async function openReceiver(
  answers: Readonly<Record<string, Answer>>,
  tls: { readonly key: string; readonly cert: string } | null = null,
): Promise<Receiver> {
  const received: Received[] = [];
  const at = (path: string) => received.filter((one) => one.path === path);
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString() };
    const earlier = at(one.path).length;
    received.push(one);
    const answer = answers[one.path] ?? ((none: ServerResponse) => none.writeHead(404).end());
    answer(response, one, earlier);
  };
  const answerAll = (request: IncomingMessage, response: ServerResponse) => {
    response.on("error", () => {});
    void handle(request, response).catch(() => response.destroy());
  };
  const server = tls === null ? createServer(answerAll) : createSecureServer(tls, answerAll);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `${tls === null ? "http" : "https"}://127.0.0.1:${port}`, received, at };
}

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end();
