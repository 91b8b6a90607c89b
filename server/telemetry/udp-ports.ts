/**
 * UDP ports that drones send telemetry to. A port is bound while a process uses it, and shared by processes of one user, told
 * apart by the address of the sender. Datagrams of other senders are dropped. An address can be forged by someone in the
 * network of the drone: signed messages protect against that.
 */
import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { backoff, sleep } from "../async/timing.ts";

export interface UdpListener {
  /** Null: all addresses of the machine. */
  readonly host: string | null;
  readonly port: number;
  /** IP address of the drone. */
  readonly sender: string;
  readonly userUuid: string;
  readonly retry: { readonly firstMs: number; readonly maxMs: number };
  onMessage(payload: Uint8Array): void;
  /** Why no messages can arrive; null: they can. */
  onTrouble(trouble: string | null): void;
}

/** Without the prefix of IPv4 addresses on a socket for both, and without a zone; in lower case. */
export const plainSender = (address: string): string =>
  (address.split("%")[0] ?? "").toLowerCase().replace(/^::ffff:(?=\d{1,3}\.)/, "");

export class UdpPorts {
  readonly #open = new Map<string, BoundPort>();

  /** Binds the port, with retries. Returns a function that stops it: nothing is received after that. */
  listen(listener: UdpListener): () => void {
    const key = `${listener.host ?? "*"} ${listener.port}`;
    const bound = this.#open.get(key) ?? new BoundPort(listener);
    this.#open.set(key, bound);
    bound.add(listener);
    return () => {
      bound.remove(listener);
      if (!bound.isEmpty || this.#open.get(key) !== bound) return;
      this.#open.delete(key);
      bound.close();
    };
  }
}

class BoundPort {
  readonly #host: string | null;
  readonly #port: number;
  readonly #retry: UdpListener["retry"];
  readonly #listeners = new Set<UdpListener>();
  readonly #closing = new AbortController();
  #socket: Socket | null = null;
  #trouble: string | null;

  constructor({ host, port, retry }: UdpListener) {
    this.#host = host;
    this.#port = port;
    this.#retry = retry;
    this.#trouble = `UDP port ${port}: opening`;
    void this.#keepBound();
  }

  get isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  add(listener: UdpListener): void {
    this.#listeners.add(listener);
    this.#notify(listener);
  }

  remove(listener: UdpListener): void {
    this.#listeners.delete(listener);
    for (const other of this.#listeners) this.#notify(other);
  }

  close(): void {
    this.#closing.abort();
    this.#socket?.close();
  }

  /** Of the process that was first. */
  #ownerOf(sender: string): string | undefined {
    return [...this.#listeners].find((one) => plainSender(one.sender) === sender)?.userUuid;
  }

  async #keepBound(): Promise<void> {
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted; attempt++) {
      const reason = await this.#receive(() => {
        attempt = 1;
        this.#announce(null);
      });
      if (signal.aborted) return;
      this.#announce(`UDP port ${this.#port}: ${reason}; retrying`);
      await sleep(backoff(attempt, this.#retry), signal);
    }
  }

  /** Resolves with the reason when the socket fails or is closed. */
  #receive(onOpen: () => void): Promise<string> {
    const host = this.#host;
    const isBoth = host === null || isIPv6(host);
    return new Promise((resolve) => {
      const socket = createSocket({ type: isBoth ? "udp6" : "udp4" });
      this.#socket = socket;
      socket.on("message", (payload, { address }) => this.#dispatch(payload, plainSender(address)));
      socket.on("listening", onOpen);
      socket.on("error", (error) => {
        resolve(error.message);
        // It may not be open.
        try {
          socket.close();
        } catch {}
      });
      socket.on("close", () => resolve("closed"));
      socket.bind({ port: this.#port, ...(host !== null && { address: host }) });
    });
  }

  #dispatch(payload: Uint8Array, sender: string): void {
    const owner = this.#ownerOf(sender);
    if (owner === undefined) return;
    for (const listener of this.#listeners)
      if (listener.userUuid === owner && plainSender(listener.sender) === sender) listener.onMessage(payload);
  }

  #announce(trouble: string | null): void {
    this.#trouble = trouble;
    for (const listener of this.#listeners) this.#notify(listener);
  }

  /** The database gives a port to one user; processes that were started before it changed hands keep it. */
  #notify(listener: UdpListener): void {
    const isTaken = this.#ownerOf(plainSender(listener.sender)) !== listener.userUuid;
    listener.onTrouble(isTaken ? `UDP port ${this.#port} is used for another key; choose another one` : this.#trouble);
  }
}
