/** Strangers at the open ports: they connect and never come to the point. */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

const DRIP_MS = 200;
const GARBAGE_BYTES = 4096;
const RTMP_HELLO_BYTES = 1536;

export type Protocol = "rtsp" | "rtmp";

interface Habit {
  readonly name: string;
  /** Returns how to stop, where it goes on. */
  act(socket: Socket, protocol: Protocol): (() => void) | undefined;
}

const REQUEST = "OPTIONS rtsp://127.0.0.1/master/a RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: stranger\r\n";

const wordsOf = (protocol: Protocol): Buffer =>
  protocol === "rtsp" ? Buffer.from(REQUEST) : Buffer.concat([Buffer.of(3), randomBytes(RTMP_HELLO_BYTES)]);

function every(act: () => void): () => void {
  const timer = setInterval(act, DRIP_MS);
  return () => clearInterval(timer);
}

const SILENT: Habit = { name: "says nothing", act: () => undefined };

export const HABITS: readonly [Habit, ...Habit[]] = [
  SILENT,
  {
    name: "says half of it",
    act(socket, protocol) {
      const words = wordsOf(protocol);
      socket.write(words.subarray(0, words.length / 2));
      return undefined;
    },
  },
  {
    name: "says it byte by byte",
    act(socket, protocol) {
      const words = wordsOf(protocol);
      let at = 0;
      return every(() => socket.write(words.subarray(at, ++at)));
    },
  },
  {
    name: "asks for ever",
    act(socket, protocol) {
      const words = wordsOf(protocol);
      if (protocol === "rtmp") socket.write(words);
      return every(() => socket.write(protocol === "rtsp" ? `${REQUEST}\r\n` : words.subarray(1, 2)));
    },
  },
  {
    name: "talks rubbish",
    act(socket) {
      socket.write(randomBytes(GARBAGE_BYTES));
      return undefined;
    },
  },
];

/** Addresses are any of this machine's: 127.0.0.0/8. */
export class Crowd {
  readonly #sockets = new Set<Socket>();
  #closed = 0;
  #received = 0;

  get open(): number {
    return this.#sockets.size;
  }

  get closed(): number {
    return this.#closed;
  }

  /** Bytes that anybody was answered with. */
  get received(): number {
    return this.#received;
  }

  add(port: number, protocol: Protocol, address: string, habit: Habit): void {
    const socket = connect({ port, host: "127.0.0.1", localAddress: address });
    let stop: (() => void) | undefined;
    this.#sockets.add(socket);
    socket.on("connect", () => {
      stop = habit.act(socket, protocol);
    });
    socket.on("data", (bytes) => {
      this.#received += bytes.length;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      stop?.();
      this.#sockets.delete(socket);
      this.#closed++;
    });
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
