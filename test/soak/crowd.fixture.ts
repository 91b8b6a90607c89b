/** Misbehaving clients on the open ports: they connect and never complete a request. */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

const DRIP_MS = 200;
const GARBAGE_BYTES = 4096;
const RTMP_HELLO_BYTES = 1536;

export type Protocol = "rtsp" | "rtmp";

interface Habit {
  readonly name: string;
  /** Returns how to stop a repeated action. */
  act(socket: Socket, protocol: Protocol): (() => void) | undefined;
}

const REQUEST = "OPTIONS rtsp://127.0.0.1/master/a RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: stranger\r\n";

const helloOf = (protocol: Protocol): Buffer =>
  protocol === "rtsp" ? Buffer.from(REQUEST) : Buffer.concat([Buffer.of(3), randomBytes(RTMP_HELLO_BYTES)]);

function every(act: () => void): () => void {
  const timer = setInterval(act, DRIP_MS);
  return () => clearInterval(timer);
}

const SILENT: Habit = { name: "sends nothing", act: () => undefined };

export const HABITS: readonly [Habit, ...Habit[]] = [
  SILENT,
  {
    name: "sends half of a request",
    act(socket, protocol) {
      const hello = helloOf(protocol);
      socket.write(hello.subarray(0, hello.length / 2));
      return undefined;
    },
  },
  {
    name: "sends a request byte by byte",
    act(socket, protocol) {
      const hello = helloOf(protocol);
      let at = 0;
      return every(() => socket.write(hello.subarray(at, ++at)));
    },
  },
  {
    name: "repeats a request endlessly",
    act(socket, protocol) {
      const hello = helloOf(protocol);
      if (protocol === "rtmp") socket.write(hello);
      return every(() => socket.write(protocol === "rtsp" ? `${REQUEST}\r\n` : hello.subarray(1, 2)));
    },
  },
  {
    name: "sends random bytes",
    act(socket) {
      socket.write(randomBytes(GARBAGE_BYTES));
      return undefined;
    },
  },
];

/** Connects from addresses of 127.0.0.0/8. */
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

  /** Bytes of all responses. */
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

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
