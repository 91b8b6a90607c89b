import { WebSocket } from "ws";
import { ServiceError } from "../service-error.ts";

/** One client at a time on each socket. */
export class SocketSlots {
  readonly #holders = new Map<string, WebSocket>();

  /** One that is on its way out holds nothing any more: whoever comes back at once finds the place free. */
  expectFree(name: string): void {
    if (this.#holders.get(name)?.readyState !== WebSocket.OPEN) return;
    const detail = `Somebody is connected to ${name}, and it takes one client at a time. Close that connection first.`;
    throw new ServiceError("socket_in_use", { detail });
  }

  /** To be called right after `expectFree`. */
  take(name: string, socket: WebSocket): void {
    this.#holders.get(name)?.terminate();
    this.#holders.set(name, socket);
    socket.once("close", () => {
      if (this.#holders.get(name) === socket) this.#holders.delete(name);
    });
  }
}
