/** A connection to an RTSP server: requests with a time limit, authentication as the server asks for it. */
import { connect, type Socket } from "node:net";
import { type ConnectOptions, failOnAbort } from "../publisher.ts";
import { Authorization, type Credentials } from "./headers.ts";
import { MessageReader, RtspError, type RtspItem, type RtspResponse, writeRequest, writeResponse } from "./message.ts";
import { trackControl } from "./sdp.ts";

export interface RtspAddress {
  readonly host: string;
  readonly port: number;
  /** For requests: without user and password. */
  readonly url: string;
  readonly credentials: Credentials | null;
}

const DEFAULT_PORT = 554;

/** Throws unless it is an RTSP URL. The message omits the URL, which may contain a password. */
export function readRtspAddress(text: string): RtspAddress {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "rtsp:" || url.hostname === "") throw new Error("expected a URL of the form rtsp://host/path");
  const hasUser = url.username !== "" || url.password !== "";
  const path = url.pathname.replace(/\/$/, "");
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    url: `rtsp://${url.host}${path}${url.search}`,
    credentials: hasUser ? { user: decode(url.username), password: decode(url.password) } : null,
  };
}

export function trackUrl(url: string, track: number): string {
  const [path, query] = url.split("?", 2);
  return `${path}/${trackControl(track)}${query === undefined ? "" : `?${query}`}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export interface RtspConnectOptions extends ConnectOptions {
  /** Receives interleaved packets. */
  readonly onFrame?: (channel: number, packet: Uint8Array) => void;
}

interface PendingRequest {
  readonly timer: NodeJS.Timeout;
  resolve(response: RtspResponse): void;
  reject(error: Error): void;
}

type Fields = Readonly<Record<string, string>>;

export class RtspClient {
  /** Resolves with the reason. */
  readonly closed: Promise<string>;
  readonly socket: Socket;
  readonly #address: RtspAddress;
  readonly #stepMs: number;
  readonly #reader = new MessageReader();
  readonly #onFrame: RtspConnectOptions["onFrame"];
  readonly #pending = new Map<number, PendingRequest>();
  #resolveClosed: (reason: string) => void = () => {};
  #authorization: Authorization | null = null;
  #sequence = 0;
  #failure: string | null = null;

  private constructor(address: RtspAddress, { stepMs, host, signal, onFrame }: RtspConnectOptions) {
    this.#onFrame = onFrame;
    this.#address = address;
    this.#stepMs = stepMs;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.socket = connect({ host: host ?? address.host, port: address.port, noDelay: true });
    this.socket.on("data", (chunk) => this.#read(chunk));
    this.socket.on("error", (error) => this.fail(`the connection failed: ${error.message}`));
    this.socket.on("close", () => this.fail("the server closed the connection"));
    failOnAbort(signal, this.socket, (reason) => this.fail(reason));
  }

  /** Rejects with the reason. */
  static async open(address: RtspAddress, options: RtspConnectOptions): Promise<RtspClient> {
    const client = new RtspClient(address, options);
    const timer = setTimeout(() => client.fail(`no connection within ${options.stepMs / 1000} s`), options.stepMs);
    const connected = new Promise<true>((resolve) => client.socket.once("connect", () => resolve(true)));
    const outcome = await Promise.race([connected, client.closed]);
    clearTimeout(timer);
    if (outcome !== true) throw new Error(outcome);
    return client;
  }

  get isClosed(): boolean {
    return this.#failure !== null;
  }

  /** Resolves with a response of status 2xx; otherwise rejects with the server's status and reason. */
  async request(method: string, url: string, headers: Fields = {}, body = ""): Promise<RtspResponse> {
    let response = await this.#send(method, url, headers, body);
    if (response.status === 401 && this.#authorization === null && this.#address.credentials !== null) {
      const challenge = response.headers.get("www-authenticate");
      this.#authorization = Authorization.answer(challenge, this.#address.credentials);
      if (this.#authorization !== null) response = await this.#send(method, url, headers, body);
    }
    if (response.status < 200 || response.status > 299) {
      throw new Error(`the server rejected ${method}: ${response.status} ${response.reason}`.trim());
    }
    return response;
  }

  /** Closes the connection. Only the first reason counts. */
  fail(reason: string): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.socket.destroy();
    for (const { timer, reject } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    this.#pending.clear();
    this.#resolveClosed(reason);
  }

  #send(method: string, url: string, headers: Fields, body: string): Promise<RtspResponse> {
    if (this.#failure !== null) return Promise.reject(new Error(this.#failure));
    const sequence = ++this.#sequence;
    const authorization = this.#authorization?.write(method, url) ?? null;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(sequence);
        reject(new Error(`the server did not answer ${method} within ${this.#stepMs / 1000} s`));
      }, this.#stepMs);
      this.#pending.set(sequence, { timer, resolve, reject });
      const fields = { CSeq: sequence, "User-Agent": "Windhover", Authorization: authorization, ...headers };
      this.socket.write(writeRequest(method, url, fields, body));
    });
  }

  #read(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      for (let item = this.#reader.next(); item !== null; item = this.#reader.next()) this.#handle(item);
    } catch (error) {
      if (error instanceof RtspError) this.fail("the server does not speak RTSP");
      else this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  #handle(item: RtspItem): void {
    if (item.kind === "frame") {
      this.#onFrame?.(item.channel, item.packet);
      return;
    }
    const sequence = Number(item.headers.get("cseq"));
    // Requests of the server are not supported.
    if (item.kind === "request") this.socket.write(writeResponse(501, null, { CSeq: sequence }));
    if (item.kind !== "response") return;
    const pending = this.#pending.get(sequence);
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    this.#pending.delete(sequence);
    pending.resolve(item);
  }
}
