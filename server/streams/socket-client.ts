/** One websocket client: its queue of messages, pings, and the rate of its own messages. */
import { WebSocket } from "ws";
import { MessageQueue, type QueuedMessage } from "./message-queue.ts";

/** Of every client of a stream; an operator sets the others (`streams`). */
export const LIMITS = {
  /** Ping interval of websockets and event streams. */
  pingSeconds: 20,
  /** Maximum queue of a client in messages; the oldest are dropped. */
  queuedMessages: 256,
  /** Maximum queue of a client in bytes. */
  queuedBytes: 4 * 2 ** 20,
  /** Maximum size of a telemetry message from a websocket client. */
  telemetryBytes: 65_536,
  /** Maximum number of messages per second from a websocket client. */
  receivedPerSecond: 200,
  /** Grace period for the closing handshake of a websocket. */
  closeMs: 2_000,
  /** A viewer that reads no data is disconnected after this time. */
  stallMs: 10_000,
};
export type StreamLimits = Readonly<typeof LIMITS>;

/** Buffered by the connection at most. The rest stays in the queue, where it can be dropped. */
const BUFFERED_BYTES = 65_536;
const UNANSWERED_PINGS = 2;
/** Limit of a close frame (RFC 6455). */
const REASON_BYTES = 123;

export type Received =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "binary" }
  /** Above the rate limit, and dropped. */
  | { readonly type: "excess" };

export class SocketClient {
  readonly #limits: StreamLimits;
  readonly #queue: MessageQueue<QueuedMessage>;
  readonly #pace: Pace;
  readonly #receive: (received: Received) => void;
  #socket: WebSocket | null = null;
  #unanswered = 0;
  #ending: string | null = null;

  constructor(limits: StreamLimits, receive: (received: Received) => void) {
    this.#limits = limits;
    this.#queue = new MessageQueue({ messages: limits.queuedMessages, bytes: limits.queuedBytes });
    this.#pace = new Pace(limits.receivedPerSecond);
    this.#receive = receive;
  }

  /** Sends what was queued before. */
  connect(socket: WebSocket): void {
    this.#socket = socket;
    socket.on("message", (data, isBinary) => this.#limitRate(() => this.#read(data.toString(), isBinary)));
    socket.on("ping", (data) => this.#limitRate(() => this.#canSend(socket) && socket.pong(data)));
    socket.on("pong", () => {
      this.#unanswered = 0;
      this.#limitRate(() => {});
    });
    // `close` follows.
    socket.on("error", () => {});
    const timer = setInterval(() => this.#ping(socket), this.#limits.pingSeconds * 1000);
    socket.once("close", () => {
      clearInterval(timer);
      this.#queue.clear();
    });
    this.#pump();
  }

  send(letter: QueuedMessage): void {
    if (this.#ending !== null || (this.#socket !== null && this.#socket.readyState !== WebSocket.OPEN)) return;
    this.#queue.put(letter);
    this.#pump();
  }

  /** After the queue has been sent. */
  end(reason: string): void {
    this.#ending ??= reason;
    this.#pump();
  }

  #pump(): void {
    const socket = this.#socket;
    if (socket === null) return;
    while (this.#canSend(socket)) {
      const next = this.#queue.take();
      if (next === null) {
        if (this.#ending !== null) closeSocket(socket, 1000, this.#ending);
        return;
      }
      socket.send(next.json, () => this.#pump());
    }
  }

  #canSend(socket: WebSocket): boolean {
    return socket.readyState === WebSocket.OPEN && socket.bufferedAmount <= BUFFERED_BYTES;
  }

  /** A ping is sent after buffered data, so that this also detects clients that do not read. */
  #ping(socket: WebSocket): void {
    if (this.#unanswered >= UNANSWERED_PINGS) {
      socket.terminate();
      return;
    }
    this.#unanswered += 1;
    socket.ping();
  }

  #limitRate(handle: () => void): void {
    const action = this.#pace.count();
    if (action === "take") {
      handle();
      return;
    }
    this.#receive({ type: "excess" });
    if (action === "pause") this.#pauseReading();
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

/** If the client does not respond within `LIMITS.closeMs`, the connection is closed. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, cutBytes(reason, REASON_BYTES));
}

/** Cut at a character. */
const cutBytes = (text: string, most: number): string =>
  Buffer.from(text)
    .subarray(0, most)
    .toString()
    .replace(/(?<!\uFFFD)\uFFFD+$/, "");

/** Above this multiple of the limit reading is paused, so that TCP slows the sender down. */
const FLOOD = 10;

type PaceAction = "take" | "refuse" | "pause";

/** Limits the messages of a client per second. */
export class Pace {
  readonly #most: number;
  readonly #now: () => number;
  #secondBeganMs: number;
  #count = 0;

  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
    this.#secondBeganMs = now();
  }

  get secondEndsInMs(): number {
    return Math.max(0, this.#secondBeganMs + 1000 - this.#now());
  }

  /** For each message. */
  count(): PaceAction {
    if (this.secondEndsInMs === 0) {
      this.#secondBeganMs = this.#now();
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= this.#most) return "take";
    return this.#count <= this.#most * FLOOD ? "refuse" : "pause";
  }
}
