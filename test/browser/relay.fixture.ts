/** A way to the service that can be cut and mended: to a browser, as if the service had gone and come back. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export class Relay {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server = createServer();
  #port = 0;

  constructor(url: string) {
    this.#target = new URL(url);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** On the port it had before, if it had one. */
  async open(): Promise<void> {
    this.#server = createServer((socket) => {
      const onward = connect(Number(this.#target.port), this.#target.hostname);
      for (const end of [socket, onward]) {
        this.#sockets.add(end);
        end.on("error", () => {}).on("close", () => this.#sockets.delete(end));
      }
      socket.on("close", () => onward.destroy());
      onward.on("close", () => socket.destroy());
      socket.pipe(onward).pipe(socket);
    }).listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async cut(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
