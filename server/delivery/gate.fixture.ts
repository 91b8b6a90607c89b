/** A proxy to a server: the connection can be cut at any time while the server keeps running. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class Gate {
  /** A port of this machine, or the path of a Unix socket. */
  readonly #target: number | string;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;

  private constructor(target: number | string) {
    this.#target = target;
  }

  static async open(target: number | string): Promise<Gate> {
    const gate = new Gate(target);
    await gate.open();
    return gate;
  }

  get port(): number {
    return this.#port;
  }

  /** Reopens on the same port. */
  async open(): Promise<void> {
    const server = createServer((socket) => {
      const beyond = typeof this.#target === "string" ? connect(this.#target) : connect(this.#target, "127.0.0.1");
      for (const [one, other] of [
        [socket, beyond],
        [beyond, socket],
      ] as const) {
        this.#sockets.add(one);
        one.pipe(other);
        one.on("error", () => {});
        one.once("close", () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes all connections and refuses new ones. */
  async cut(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = once(server, "close");
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
