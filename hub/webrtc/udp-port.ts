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
  /** Whether this address has answered a check, and is the one in use. */
  uses(route: Route): boolean;
  /** A datagram that is not STUN, from the address in use. */
  receive(data: Buffer): void;
  /** Handling a datagram threw an error: a bug of ours. */
  fail(error: unknown): void;
}

interface KnownPeer {
  readonly peer: Peer;
  /** By `address port`, of which signed requests came; that of the latest is the last. */
  readonly routes: Map<string, Route>;
}

/** A viewer with more addresses than this forgets the oldest. */
const ADDRESSES_PER_PEER = 8;
const SEND_BUFFER_BYTES = 4 * 2 ** 20;

export class UdpPort {
  readonly #sockets: Socket[];
  readonly #peers = new Map<string, KnownPeer>();
  /** By `address port`: several, where one viewer forges the address of another. */
  readonly #sources = new Map<string, Set<KnownPeer>>();
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
    this.#peers.set(peer.ufrag, { peer, routes: new Map() });
  }

  remove(peer: Peer): void {
    const known = this.#peers.get(peer.ufrag);
    if (known === undefined) return;
    this.#peers.delete(peer.ufrag);
    for (const source of known.routes.keys()) this.#forget(source, known);
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
    this.#peers.clear();
    this.#sources.clear();
  }

  #receive(socket: Socket, data: Buffer, address: string, port: number): void {
    // Nothing can be sent back there; what tries throws.
    if (port === 0) return;
    const source = `${address} ${port}`;
    const request = readBindingRequest(data);
    if (request === null) {
      for (const known of this.#sources.get(source) ?? []) this.#pass(known, source, data);
      return;
    }
    const [ours = "", theirs] = request.username.split(":");
    const known = this.#peers.get(ours);
    if (known === undefined || theirs !== known.peer.remoteUfrag) return;
    const { peer } = known;
    if (!isProven(data, request, peer.password)) return;
    const route = this.#learn(source, known, (packet, onSent) => socket.send(packet, port, address, onSent));
    this.#hand(peer, () => {
      route.send(writeBindingResponse(request.transaction, address, port, peer.password), () => {});
      peer.handleRequest(route, request.isNominating);
    });
  }

  #pass({ peer, routes }: KnownPeer, source: string, data: Buffer): void {
    const route = routes.get(source);
    if (route === undefined) return;
    if (isStun(data)) this.#hand(peer, () => peer.handleStun(route, data));
    else if (peer.uses(route)) this.#hand(peer, () => peer.receive(data));
  }

  #hand(peer: Peer, work: () => void): void {
    guardBy((error) => peer.fail(error))(work)();
  }

  #learn(source: string, known: KnownPeer, send: Route["send"]): Route {
    const { routes } = known;
    const route = routes.get(source) ?? { send };
    // To the end: the address that was silent for longest is the first.
    routes.delete(source);
    routes.set(source, route);
    const [oldest] = routes.keys();
    if (oldest !== undefined && routes.size > ADDRESSES_PER_PEER) {
      routes.delete(oldest);
      this.#forget(oldest, known);
    }
    const owners = this.#sources.get(source) ?? new Set();
    this.#sources.set(source, owners.add(known));
    return route;
  }

  #forget(source: string, known: KnownPeer): void {
    const owners = this.#sources.get(source);
    owners?.delete(known);
    if (owners?.size === 0) this.#sources.delete(source);
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
