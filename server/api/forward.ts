/**
 * Requests that another node has to answer, as it runs their process: passed on to it, and its answer passed back. A request
 * is passed on once. Where the node cannot be reached, this one answers what the database knows.
 */
import type { IncomingMessage } from "node:http";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { Config } from "../../schemas/config.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { ClusterNode } from "../cluster/node.ts";
import type { Owners } from "../cluster/owners.ts";
import { MISDIRECTED, type Peers, PeerUnreachable, passedHeaders } from "../cluster/peers.ts";
import { rankNodes } from "../cluster/placement.ts";
import { type MessageRange, writeLines } from "../detections/read-file.ts";
import { PREPARE_PATH } from "../processes/hand-over.ts";
import type { ProcessCost, StartOrder } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import { capacityExhausted } from "../store/capacity.ts";
import type { NodeRow } from "../store/nodes.ts";
import type { ProcessRow } from "../store/processes.ts";
import { hasBody } from "./connections.ts";
import type { ApiCall, ApiMiddleware } from "./context.ts";
import type { Answer, AnyEndpoint } from "./endpoint.ts";
import { expectSize, readBytes } from "./input.ts";
import { sendPieces, startPieces } from "./send-file.ts";

export interface ForwardDeps {
  readonly node: ClusterNode;
  /** What a process is likely to use. */
  costOf(process: Pick<ProcessRow, "graph" | "params" | "sourceUuid">): Promise<ProcessCost>;
  readonly peers: Peers;
  readonly owners: Owners;
  readonly http: Config["http"];
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
  /** The node that has the video of a source; null: none, or all reach it equally. */
  findVideo(userUuid: string, sourceUuid: string): Promise<string | null>;
  /** Another node is about to hand a process over. */
  prepare(): Promise<void>;
  /** Resumes a process that another node hands over. */
  takeOver(processUuid: string): Promise<boolean>;
  /** Another node has changed alerts. */
  refreshAlerts(): Promise<void>;
  /** Another node has completed the evidence of a notice of this process. */
  notify(processUuid: string, notice: AlertNotice): void;
  /** Of this node, for another one. */
  readDetections(processUuid: string, range: MessageRange): AsyncIterable<DetectionMessage>;
  /** The fence of a process that this node runs; null: it does not. */
  fenceOf(processUuid: string): number | null;
}

const PROCESS = "{process_uuid}";
/** Path of the request that notifies a node of changed alerts; only for nodes. */
export const ALERTS_PATH = "/cluster/alerts";
/** As `claimPath` makes it. */
const CLAIM = /^\/cluster\/claim\/([0-9a-f-]{36})$/;
/** With a notice as its body. */
const NOTICE = /^\/cluster\/notice\/([0-9a-f-]{36})$/;
export const noticePath = (processUuid: string): string => `/cluster/notice/${processUuid}`;
/** Answered like `GET /process/{process_uuid}/detections`, without what other nodes have. */
const DETECTIONS = /^\/cluster\/detections\/([0-9a-f-]{36})\?from=(\d{1,16})&to=(\d{1,16})$/;
export const detectionsPath = (processUuid: string, { fromMs, toMs }: MessageRange): string =>
  `/cluster/detections/${processUuid}?from=${Math.max(0, Math.floor(fromMs))}&to=${Math.max(0, Math.ceil(toMs))}`;

/** Null: this node has no room. */
const orNone = (started: Promise<Answer>): Promise<Answer | null> =>
  started.catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === "capacity_exhausted") return null;
    throw error;
  });

export type ForwardedCall = Pick<
  ApiCall,
  | ("raw" | "hop" | "address" | "publicUrl" | "requestId" | "signal" | "log" | "body" | "letContinue")
  | ("limitHeaders" | "span")
>;

interface PassedOn {
  readonly fence: number | null;
  readonly body: Uint8Array | null;
  /** Default: that of the request. */
  readonly target?: string;
}

interface Placement {
  /** Of the request to another node. Default: that of the client. */
  readonly target?: string;
  /** This node chooses. Default: it does unless another one has chosen it. */
  readonly isChosenHere?: boolean;
  /** Other nodes have no access to the video. */
  readonly isOnlyHere?: boolean;
}

export class Forwarder {
  readonly #deps: ForwardDeps;

  constructor(deps: ForwardDeps) {
    this.#deps = deps;
  }

  get peers(): Peers {
    return this.#deps.peers;
  }

  /** Requests of other nodes on their own behalf; null: of a client. */
  async answerNode(call: Pick<ApiCall, "hop" | "raw">): Promise<Response | null> {
    const { hop, raw } = call;
    if (hop === null || raw.method !== "POST") return null;
    if (raw.url === PREPARE_PATH) {
      await this.#deps.prepare();
      return new Response(null, { status: 204 });
    }
    if (raw.url === ALERTS_PATH) {
      await this.#deps.refreshAlerts();
      return new Response(null, { status: 204 });
    }
    const [, noticed] = NOTICE.exec(raw.url ?? "") ?? [];
    if (noticed !== undefined) {
      const { body_bytes: bytes, request_seconds: seconds } = this.#deps.http;
      const text = (await readBytes(raw, { bytes, seconds })).toString();
      this.#deps.notify(noticed, JSON.parse(text) as AlertNotice);
      return new Response(null, { status: 204 });
    }
    const [, detected, from, to] = DETECTIONS.exec(raw.url ?? "") ?? [];
    if (detected !== undefined) {
      const messages = this.#deps.readDetections(detected, { fromMs: Number(from), toMs: Number(to) });
      const pieces = await startPieces(writeLines(messages), false);
      return new Response(sendPieces(pieces, { raw, stallMs: this.#deps.stallMs }));
    }
    const uuid = CLAIM.exec(raw.url ?? "")?.[1];
    if (uuid === undefined) return null;
    return new Response(null, { status: (await this.#deps.takeOver(uuid)) ? 204 : 409 });
  }

  /** Middleware of endpoints whose path names a process, before their input is read. */
  toOwner({ path }: AnyEndpoint): ApiMiddleware {
    if (!path.includes(PROCESS)) return (_, next) => next();
    return async ({ env: { call } }, next) => {
      const { process_uuid: uuid = "" } = call.params;
      const fence = this.#deps.fenceOf(uuid);
      if (call.hop !== null && call.hop.fence !== fence) return new Response(null, { status: MISDIRECTED });
      const answer = call.hop !== null || fence !== null ? null : await this.#pass(call, uuid);
      return answer ?? next();
    };
  }

  /** Null: it is answered here. */
  async #pass(call: ForwardedCall, uuid: string): Promise<Response | null> {
    let body: Buffer | null = null;
    let isRead = false;
    for (const isFresh of [false, true]) {
      const owner = await this.#deps.owners.find(uuid, isFresh);
      // What the database knows can be read anywhere; a body that was read here cannot be read again.
      if (owner === null) return isRead ? rejectMoved() : null;
      isRead ||= hasBody(call.raw);
      body ??= await this.#readBody(call);
      const answer = await this.send(call, owner.node, { fence: owner.fence, body });
      if (answer !== null) return answer;
    }
    return isRead ? rejectMoved() : null;
  }

  /** Starts a process on the node that suits it best; `start` starts it here. */
  async place(
    call: ForwardedCall,
    order: StartOrder,
    start: () => Promise<Answer>,
    { target = call.raw.url ?? "/", isChosenHere = call.hop === null, isOnlyHere = false }: Placement = {},
  ): Promise<Answer> {
    if (!isChosenHere) return (await orNone(start())) ?? new Response(null, { status: MISDIRECTED });
    const { node, costOf } = this.#deps;
    const { graph, graphText = null, params, sourceUuid, labels = {} } = order;
    const process = { graph, graphText, labels, ...(await costOf({ graph, params, sourceUuid })) };
    const near = await this.#deps.findVideo(order.user.uuid, sourceUuid);
    const known = (await node.listNow()).filter(({ uuid }) => !isOnlyHere || uuid === node.uuid);
    const nodes = rankNodes(known, process, ({ uuid }) => uuid === near);
    const body = Buffer.from(JSON.stringify(call.body));
    for (const candidate of nodes) {
      const isHere = candidate.uuid === node.uuid;
      const answer = isHere ? await orNone(start()) : await this.send(call, candidate, { fence: null, body, target });
      if (answer !== null) return answer;
    }
    throw capacityExhausted();
  }

  /** A request whose path does not name the process. Null: this node answers it. */
  async toProcess(call: ForwardedCall, uuid: string): Promise<Response | null> {
    const owner = call.hop === null ? await this.#deps.owners.find(uuid, true) : null;
    if (owner === null) return null;
    return this.send(call, owner.node, { fence: null, body: Buffer.from(JSON.stringify(call.body)) });
  }

  /** A `POST` with its body, which is JSON. Null: that node cannot be reached, or has passed it on itself. */
  async toNode(call: ForwardedCall, nodeUuid: string): Promise<Response | null> {
    const peer = call.hop === null ? await this.#deps.node.find(nodeUuid) : null;
    const body = call.raw.method === "POST" ? Buffer.from(JSON.stringify(call.body)) : null;
    return peer === null ? null : this.send(call, peer, { fence: null, body });
  }

  /** Null: the node cannot be reached, does not own the process or has no room for it, so that nothing has happened. */
  async send(
    call: ForwardedCall,
    peer: NodeRow,
    { fence, body, target = call.raw.url ?? "/" }: PassedOn,
  ): Promise<Response | null> {
    const { raw, address, publicUrl, requestId, signal, log, span } = call;
    const traced = span === null ? {} : { traceparent: span.traceparent };
    try {
      const answer = await this.#deps.peers.send(peer, {
        ...{ method: raw.method ?? "GET", target, body, signal },
        headers: { ...raw.headers, "x-request-id": requestId, ...traced },
        hop: { address, publicUrl, fence },
      });
      if (answer.statusCode !== MISDIRECTED) return this.#toResponse(call, answer);
      answer.resume();
      return null;
    } catch (error) {
      if (!(error instanceof PeerUnreachable) && !signal.aborted)
        throw new ServiceError("node_unavailable", {
          detail: "the node of this process did not answer; read the process before you try again",
          retryAfterSeconds: 1,
          cause: error,
        });
      log.info({ node: peer.uuid, reason: (error as Error).message }, "node cannot be reached");
      return null;
    }
  }

  async #readBody({ raw, letContinue }: ForwardedCall): Promise<Buffer | null> {
    if (!hasBody(raw)) return null;
    const { http } = this.#deps;
    const limits = { bytes: http.body_bytes, seconds: http.request_seconds };
    expectSize(raw, limits);
    letContinue();
    return readBytes(raw, limits);
  }

  #toResponse({ raw, limitHeaders }: ForwardedCall, answer: IncomingMessage): Response {
    const status = answer.statusCode ?? 502;
    const headers = Object.entries(passedHeaders(answer.headers)).flatMap(([name, value]): [string, string][] =>
      [value ?? []].flat().map((text) => [name, text]),
    );
    headers.push(...Object.entries(limitHeaders));
    const length = answer.headers["content-length"];
    if (length !== undefined) headers.push(["content-length", length]);
    if (raw.method === "HEAD" || status === 204 || status === 304) {
      answer.resume();
      return new Response(null, { status, headers });
    }
    const pieces = answer[Symbol.asyncIterator]() as AsyncGenerator<Uint8Array>;
    return new Response(sendPieces(pieces, { raw, stallMs: this.#deps.stallMs }), { status, headers });
  }
}

const rejectMoved = (): never => {
  throw new ServiceError("node_unavailable", {
    detail: "the process is moving to another node; try again in a moment",
    retryAfterSeconds: 1,
  });
};
