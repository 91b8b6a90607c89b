/**
 * Requests from node to node. A request of a client that another node has to answer is passed on as it is, with its key, and
 * with a signed header that names the client: the receiver checks the key like any other, and does not pass it on again.
 */
import { readFileSync } from "node:fs";
import { type Agent, Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as requestTls } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Config } from "../../schemas/config.ts";
import { ServiceError } from "../service-error.ts";
import type { NodeRow } from "../store/nodes.ts";
import type { ClusterNode } from "./node.ts";
import type { ClusterKey } from "./signature.ts";

/** What a node passes on to the next one about a request. */
export interface Hop {
  /** Node that it was sent to: a signature is of no use elsewhere. */
  readonly to: string;
  /** Address of the client. */
  readonly address: string;
  /** Scheme, host and port of the service as the client sees it. */
  readonly publicUrl: string;
  /** The claim of the process by which the receiver was found; null for a start. */
  readonly fence: number | null;
}

export const HOP_HEADER = "windhover-hop";
/** Of an answer: the receiver does not own the process (any longer). */
export const MISDIRECTED = 421;

/** Connections to one node that are kept for requests. Streams and websockets come on top. */
const MAX_IDLE = 32;
const CONNECT_MS = 2_000;

/** Not passed on: they are for one connection (RFC 9110, section 7.6.1), or are set again. */
const OWN_HEADERS = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade", "host", "expect", "content-length", HOP_HEADER],
]);

export const passedHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name)));

/** The node could not be reached, so that it has not seen the request. */
export class PeerUnreachable extends Error {
  override readonly name = "PeerUnreachable";
}

interface PeerRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array | null;
  readonly hop: Omit<Hop, "to">;
  readonly signal: AbortSignal;
}

export class Peers {
  readonly #node: ClusterNode;
  readonly #key: ClusterKey;
  readonly #agents: Readonly<Record<"http:" | "https:", Agent>>;
  readonly #ca: Buffer | undefined;

  /** Throws when the CA certificate cannot be read. */
  constructor(node: ClusterNode, key: ClusterKey, config: Config["cluster"]) {
    this.#node = node;
    this.#key = key;
    this.#ca = config.ca_file === null ? undefined : readFileSync(config.ca_file);
    const options = { keepAlive: true, maxFreeSockets: MAX_IDLE };
    this.#agents = {
      "http:": new HttpAgent(options),
      "https:": new HttpsAgent({ ...options, ...(this.#ca !== undefined && { ca: this.#ca }) }),
    };
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  /** Null: a request of a client. Throws `signature_invalid` for a hop that no node of this service has signed for this one. */
  readHop({ method = "", url = "", headers }: IncomingMessage): Hop | null {
    const header = headers[HOP_HEADER];
    if (header === undefined) return null;
    const [text = "", ...signature] = String(header).split(".");
    if (this.#key.isGood("request", [method, url, text], signature.join("."))) {
      const hop = JSON.parse(Buffer.from(text, "base64url").toString()) as Hop;
      if (hop.to === this.#node.uuid) return hop;
    }
    throw new ServiceError("signature_invalid", {
      detail: `The header \`${HOP_HEADER}\` is only for nodes of this service; leave it out.`,
    });
  }

  /** Resolves with the head of the answer. Rejects with `PeerUnreachable`, or when the connection is lost later. */
  async send(peer: NodeRow, { method, target, headers, body, hop, signal }: PeerRequest): Promise<IncomingMessage> {
    const url = urlOf(peer);
    const isTls = url.protocol === "https:";
    const socketAgent = this.#agents[isTls ? "https:" : "http:"];
    return new Promise((resolve, reject) => {
      const sent = (isTls ? requestTls : request)({
        ...{ host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port, method, path: target, signal },
        agent: socketAgent,
        headers: {
          ...passedHeaders(headers),
          host: url.host,
          [HOP_HEADER]: this.#sign(peer, hop, method, target),
          ...(body !== null && { "content-length": body.length }),
        },
      });
      let isConnected = false;
      const timer = setTimeout(
        () => sent.destroy(new PeerUnreachable(`no connection within ${CONNECT_MS} ms`)),
        CONNECT_MS,
      );
      sent.once("socket", (socket: Socket) => {
        const onConnected = (): void => {
          isConnected = true;
          clearTimeout(timer);
        };
        if (socket.connecting) socket.once(isTls ? "secureConnect" : "connect", onConnected);
        else onConnected();
      });
      sent.once("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        // A kept connection that the node has closed: nothing of the request was handled.
        const isStale = sent.reusedSocket && error.code === "ECONNRESET";
        reject(isConnected && !isStale ? error : new PeerUnreachable(error.message, { cause: error }));
      });
      sent.once("response", (answer) => {
        answer.on("error", () => {}); // the reader of the body gets it, too
        resolve(answer);
      });
      sent.end(body ?? undefined);
    });
  }

  /** Passes a websocket on. Resolves when the other node has it; from then on bytes flow both ways. */
  async passUpgrade(
    peer: NodeRow,
    incoming: IncomingMessage,
    client: Duplex,
    head: Buffer,
    hop: Omit<Hop, "to">,
  ): Promise<void> {
    const url = urlOf(peer);
    const { method = "GET", url: target = "/" } = incoming;
    const socket = await this.#connect(url);
    const own = { host: url.host, [HOP_HEADER]: this.#sign(peer, hop, method, target) };
    const kept = incoming.rawHeaders.flatMap((name, i, all) =>
      i % 2 === 1 || name.toLowerCase() in own ? [] : [`${name}: ${all[i + 1]}`],
    );
    const lines = [...kept, ...Object.entries(own).map(([name, value]) => `${name}: ${value}`)];
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    socket.write(head);
    socket.on("error", () => client.destroy());
    client.on("error", () => socket.destroy());
    socket.once("close", () => client.destroy());
    client.once("close", () => socket.destroy());
    socket.pipe(client);
    client.pipe(socket);
  }

  #connect(url: URL): Promise<Socket> {
    const isTls = url.protocol === "https:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port || (isTls ? 443 : 80));
    const socket = isTls
      ? connectTls({
          host,
          port,
          ...(isIP(host) === 0 && { servername: host }),
          ...(this.#ca !== undefined && { ca: this.#ca }),
        })
      : connect({ host, port });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS);
      socket.once("error", (error) => {
        clearTimeout(timer);
        reject(new PeerUnreachable(error.message, { cause: error }));
      });
      socket.once(isTls ? "secureConnect" : "connect", () => {
        clearTimeout(timer);
        resolve(socket);
      });
    });
  }

  #sign({ uuid }: NodeRow, hop: Omit<Hop, "to">, method: string, target: string): string {
    const text = Buffer.from(JSON.stringify({ ...hop, to: uuid })).toString("base64url");
    return `${text}.${this.#key.sign("request", [method, target, text])}`;
  }
}

function urlOf({ url }: NodeRow): URL {
  if (url === null) throw new PeerUnreachable("the node is not listening yet");
  return new URL(url);
}
