/**
 * The one UDP port of WebRTC, shared by all viewers. Datagrams from an address are dropped until a binding request from it
 * was signed with the password of an answer, which only that viewer has. Whether video may be sent to that address is
 * decided by `route-checks.ts`: the source address of a request can be forged.
 */
import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { guardBy } from "../guard.ts";
import { isProven, isStun, readBindingRequest, writeBindingResponse } from "./stun.ts";

/** One address of one viewer. The object stays the same while the address is known. */
export interface Route {
  send(data: Buffer, onSent: () => void): void;
}

/** The receiver of datagrams. */
export interface Peer {
  readonly ufrag: string;
  readonly password: string;
  readonly remoteUfrag: string;
  /** A signed request came from there, and was answered. */
  handleRequest(route: Route, isNominating: boolean): void;
  /** Any other STUN message from the address of an earlier signed request. */
  handleStun(route: Route, data: Buffer): void;
  /** A datagram that is not STUN, from the address of an earlier signed request. */
  receive(data: Buffer): void;
  /** Handling a datagram threw an error: a bug of ours. */
  fail(error: unknown): void;
}

/** A viewer with more addresses than this forgets the oldest. */
const ADDRESSES_PER_PEER = 8;
const SEND_BUFFER_BYTES = 4 * 2 ** 20;

export class UdpPort {
  readonly #sockets: Socket[];
  readonly #peers = new Map<string, Peer>();
  /** By `address port`; the one of the latest request last. */
  readonly #routes = new Map<string, { readonly peer: Peer; readonly route: Route }>();
  readonly port: number;
  readonly hasIpv6: boolean;

  private constructor(sockets: Socket[], port: number) {
    this.#sockets = sockets;
    this.port = port;
    this.hasIpv6 = sockets.length > 1;
    for (const socket of sockets) {
      socket.on("message", (data, { address, port }) => this.#receive(socket, data, address, port));
      // Errors of single packets reach the callbacks of `send`; nothing is left that could be done about others.
      socket.on("error", () => {});
      try {
        socket.setSendBufferSize(SEND_BUFFER_BYTES);
      } catch {
        // The system's own size does too.
      }
    }
  }

  /** The first port of the range that is free, or any when it begins with 0. */
  static async open(first: number, last: number): Promise<UdpPort> {
    for (let port = first; port <= Math.max(first, last); port++) {
      const ipv4 = await bind("udp4", port).catch(() => null);
      if (ipv4 === null) continue;
      const bound = ipv4.address().port;
      const ipv6 = await bind("udp6", bound).catch(() => null);
      return new UdpPort(ipv6 === null ? [ipv4] : [ipv4, ipv6], bound);
    }
    throw new Error(`no UDP port from ${first} to ${last} is free`);
  }

  add(peer: Peer): void {
    this.#peers.set(peer.ufrag, peer);
  }

  remove(peer: Peer): void {
    this.#peers.delete(peer.ufrag);
    for (const [source, known] of this.#routes) if (known.peer === peer) this.#routes.delete(source);
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
    this.#peers.clear();
    this.#routes.clear();
  }

  #receive(socket: Socket, data: Buffer, address: string, port: number): void {
    // Nothing can be sent back there; what tries throws.
    if (port === 0) return;
    const source = `${address} ${port}`;
    const request = readBindingRequest(data);
    if (request === null) {
      const known = this.#routes.get(source);
      if (known === undefined) return;
      const { peer, route } = known;
      this.#hand(peer, () => (isStun(data) ? peer.handleStun(route, data) : peer.receive(data)));
      return;
    }
    const [ours = "", theirs] = request.username.split(":");
    const peer = this.#peers.get(ours);
    if (peer === undefined || theirs !== peer.remoteUfrag || !isProven(data, request, peer.password)) return;
    const route = this.#learn(source, peer, (packet, onSent) => socket.send(packet, port, address, onSent));
    this.#hand(peer, () => {
      route.send(writeBindingResponse(request.transaction, address, port, peer.password), () => {});
      peer.handleRequest(route, request.isNominating);
    });
  }

  #hand(peer: Peer, work: () => void): void {
    guardBy((error) => peer.fail(error))(work)();
  }

  #learn(source: string, peer: Peer, send: Route["send"]): Route {
    const known = this.#routes.get(source);
    const entry = known?.peer === peer ? known : { peer, route: { send } };
    this.#routes.delete(source);
    const own = [...this.#routes].filter(([, { peer: owner }]) => owner === peer);
    for (const [oldest] of own.slice(0, Math.max(0, own.length - ADDRESSES_PER_PEER + 1))) this.#routes.delete(oldest);
    this.#routes.set(source, entry);
    return entry.route;
  }
}

function bind(type: "udp4" | "udp6", port: number): Promise<Socket> {
  // Only numbers are sent to, so that there is nothing to look up.
  const lookup = (host: string, _options: unknown, done: (error: null, address: string, family: number) => void) =>
    done(null, host, isIPv6(host) ? 6 : 4);
  const socket = createSocket({ type, ipv6Only: type === "udp6", lookup });
  return new Promise((resolve, reject) => {
    socket.once("error", (error) => {
      socket.close();
      reject(error);
    });
    socket.bind(port, () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
