/** One websocket client: what it is sent, whether it is still there, and how much it may send. */
import { WebSocket } from "ws";
import type { Config } from "../../schemas/config.ts";
import { type Letter, Outbox } from "./outbox.ts";
import { Pace } from "./pace.ts";

/** What is handed to the connection before it has taken what came before. The rest waits where it can be dropped. */
const UNDERWAY_BYTES = 65_536;
const UNANSWERED_PINGS = 2;
/** RFC 6455: a close frame has room for so much. */
const REASON_BYTES = 123;

export type Received =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "binary" }
  /** Came too fast and was not looked at. Told once a second. */
  | { readonly type: "excess" };

export class SocketClient {
  readonly #config: Config["streams"];
  readonly #outbox: Outbox<Letter>;
  readonly #pace: Pace;
  readonly #receive: (received: Received) => void;
  #socket: WebSocket | null = null;
  #unanswered = 0;
  #excessToldMs = Number.NEGATIVE_INFINITY;
  #ending: string | null = null;

  constructor(config: Config["streams"], receive: (received: Received) => void) {
    this.#config = config;
    this.#outbox = new Outbox({ messages: config.queued_messages, bytes: config.queued_bytes });
    this.#pace = new Pace(config.received_per_second);
    this.#receive = receive;
  }

  /** What was sent before waits until now. */
  connect(socket: WebSocket): void {
    this.#socket = socket;
    socket.on("message", (data, isBinary) => this.#takeIn(() => this.#read(data.toString(), isBinary)));
    socket.on("ping", (data) => this.#takeIn(() => this.#isRoomy(socket) && socket.pong(data)));
    socket.on("pong", () => {
      this.#unanswered = 0;
      this.#takeIn(() => {});
    });
    // The connection is closed after an error, and `close` follows.
    socket.on("error", () => {});
    const timer = setInterval(() => this.#ping(socket), this.#config.ping_seconds * 1000);
    socket.once("close", () => {
      clearInterval(timer);
      this.#outbox.clear();
    });
    this.#pump();
  }

  send(letter: Letter): void {
    if (this.#ending !== null || (this.#socket !== null && this.#socket.readyState !== WebSocket.OPEN)) return;
    this.#outbox.put(letter);
    this.#pump();
  }

  /** After what waits has been sent. */
  end(reason: string): void {
    this.#ending ??= reason;
    this.#pump();
  }

  #pump(): void {
    const socket = this.#socket;
    if (socket === null) return;
    while (this.#isRoomy(socket)) {
      const next = this.#outbox.take();
      if (next === null) {
        if (this.#ending !== null) closeSocket(socket, 1000, this.#ending);
        return;
      }
      socket.send(next.json, () => this.#pump());
    }
  }

  #isRoomy(socket: WebSocket): boolean {
    return socket.readyState === WebSocket.OPEN && socket.bufferedAmount <= UNDERWAY_BYTES;
  }

  /** A ping waits behind what was sent before it, so this finds out too who takes nothing. */
  #ping(socket: WebSocket): void {
    if (this.#unanswered >= UNANSWERED_PINGS) {
      socket.terminate();
      return;
    }
    this.#unanswered += 1;
    socket.ping();
  }

  #takeIn(handle: () => void): void {
    const verdict = this.#pace.count();
    if (verdict === "take") {
      handle();
      return;
    }
    const nowMs = performance.now();
    if (nowMs - this.#excessToldMs >= 1000) {
      this.#excessToldMs = nowMs;
      this.#receive({ type: "excess" });
    }
    if (verdict === "pause") this.#pauseReading();
  }

  #pauseReading(): void {
    const socket = this.#socket;
    if (socket === null || socket.isPaused) return;
    socket.pause();
    setTimeout(() => socket.resume(), this.#pace.secondEndsInMs);
  }

  #read(text: string, isBinary: boolean): void {
    this.#receive(isBinary ? { type: "binary" } : { type: "text", text });
  }
}

/** The client may say good-bye; when it does not within `streams.close_seconds`, the connection goes. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, cutBytes(reason, REASON_BYTES));
}

/** Whole characters that fit. */
const cutBytes = (text: string, most: number): string =>
  Buffer.from(text)
    .subarray(0, most)
    .toString()
    .replace(/(?<!\uFFFD)\uFFFD+$/, "");
