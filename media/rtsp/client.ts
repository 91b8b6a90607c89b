/** A connection to an RTSP server: requests and their answers, passwords as the server wants them, every wait limited. */
import { connect, type Socket } from "node:net";
import type { RtspAddress } from "./address.ts";
import { Authorization } from "./authorization.ts";
import { RtspFault, type RtspItem, type RtspResponse, writeRequest, writeResponse } from "./message.ts";
import { MessageReader } from "./message-reader.ts";

export interface ClientOptions {
  /** Every step must be done after this: to be connected, an answer. */
  readonly stepMs: number;
  /** Connected to instead of the address's own, which requests still name. */
  readonly host?: string;
  /** Of a player: packets that come between the answers. */
  readonly onFrame?: (channel: number, packet: Uint8Array) => void;
  /** Aborted: given up, whatever it is about. */
  readonly signal?: AbortSignal;
}

interface Waiting {
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
  readonly #onFrame: ClientOptions["onFrame"];
  readonly #waiting = new Map<number, Waiting>();
  #tellClosed: (reason: string) => void = () => {};
  #authorization: Authorization | null = null;
  #sequence = 0;
  #failure: string | null = null;

  private constructor(address: RtspAddress, { stepMs, host, signal, onFrame }: ClientOptions) {
    this.#onFrame = onFrame;
    this.#address = address;
    this.#stepMs = stepMs;
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
    this.socket = connect({ host: host ?? address.host, port: address.port, noDelay: true });
    this.socket.on("data", (chunk) => this.#read(chunk));
    this.socket.on("error", (error) => this.fail(`the connection failed: ${error.message}`));
    this.socket.on("close", () => this.fail("the server closed the connection"));
    const giveUp = (): void => this.fail("given up");
    signal?.addEventListener("abort", giveUp);
    this.socket.once("close", () => signal?.removeEventListener("abort", giveUp));
    if (signal?.aborted) giveUp();
  }

  /** Rejects with the reason. */
  static async open(address: RtspAddress, options: ClientOptions): Promise<RtspClient> {
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

  /** Resolves with an answer of 200; rejects with what the server said otherwise. */
  async request(method: string, url: string, headers: Fields = {}, body = ""): Promise<RtspResponse> {
    let response = await this.#ask(method, url, headers, body);
    if (response.status === 401 && this.#authorization === null && this.#address.credentials !== null) {
      const challenge = response.headers.get("www-authenticate");
      this.#authorization = Authorization.answer(challenge, this.#address.credentials);
      if (this.#authorization !== null) response = await this.#ask(method, url, headers, body);
    }
    if (response.status < 200 || response.status > 299) {
      throw new Error(`the server refused ${method}: ${response.status} ${response.reason}`.trim());
    }
    return response;
  }

  /** Ends it. Nothing after the first time. */
  fail(reason: string): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.socket.destroy();
    for (const { timer, reject } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    this.#waiting.clear();
    this.#tellClosed(reason);
  }

  #ask(method: string, url: string, headers: Fields, body: string): Promise<RtspResponse> {
    if (this.#failure !== null) return Promise.reject(new Error(this.#failure));
    const sequence = ++this.#sequence;
    const authorization = this.#authorization?.write(method, url) ?? null;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(sequence);
        reject(new Error(`the server did not answer ${method} within ${this.#stepMs / 1000} s`));
      }, this.#stepMs);
      this.#waiting.set(sequence, { timer, resolve, reject });
      const fields = { CSeq: sequence, "User-Agent": "Windhover", Authorization: authorization, ...headers };
      this.socket.write(writeRequest(method, url, fields, body));
    });
  }

  #read(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      for (let item = this.#reader.next(); item !== null; item = this.#reader.next()) this.#take(item);
    } catch (error) {
      if (error instanceof RtspFault) this.fail("the server does not speak RTSP");
      else this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  #take(item: RtspItem): void {
    if (item.kind === "frame") {
      this.#onFrame?.(item.channel, item.packet);
      return;
    }
    const sequence = Number(item.headers.get("cseq"));
    // A server may ask as well; nothing that it could want is known here.
    if (item.kind === "request") this.socket.write(writeResponse(501, null, { CSeq: sequence }));
    if (item.kind !== "response") return;
    const waiting = this.#waiting.get(sequence);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.#waiting.delete(sequence);
    waiting.resolve(item);
  }
}
