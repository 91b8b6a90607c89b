/**
 * The one UDP port of WebRTC, shared by all viewers. Whoever sends to it is nobody until a binding request has proven, with
 * the password of the answer that only the viewer got, whose packets come from there; everything else is dropped unread.
 */
import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { guardBy } from "../guard.ts";
import { isProven, isStun, readBindingRequest, writeBindingResponse } from "./stun.ts";

/** The way back to one viewer. */
export interface Route {
  send(data: Buffer, onSent: () => void): void;
}

/** Whom packets are for. */
export interface Peer {
  readonly ufrag: string;
  readonly password: string;
  readonly remoteUfrag: string;
  /** A proven request came this way. Of several ways the last nominated one is to be used. */
  reach(route: Route, isNominated: boolean): void;
  /** A packet that is no STUN, from an address that has proven itself. */
  receive(data: Buffer): void;
  /** What it was handed could not be worked off, by a fault of ours: it goes. */
  fail(error: unknown): void;
}

/** A viewer with more addresses than this forgets the oldest. */
const ADDRESSES_PER_PEER = 8;
const SEND_BUFFER_BYTES = 4 * 2 ** 20;

export class UdpPort {
  readonly #sockets: Socket[];
  readonly #peers = new Map<string, Peer>();
  /** By `address port`. */
  readonly #ways = new Map<string, Peer>();
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
    for (const [way, owner] of this.#ways) if (owner === peer) this.#ways.delete(way);
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
    this.#peers.clear();
    this.#ways.clear();
  }

  #receive(socket: Socket, data: Buffer, address: string, port: number): void {
    // Nothing can be sent back there; what tries throws.
    if (port === 0) return;
    const way = `${address} ${port}`;
    if (!isStun(data)) {
      const peer = this.#ways.get(way);
      if (peer !== undefined) this.#hand(peer, () => peer.receive(data));
      return;
    }
    const request = readBindingRequest(data);
    if (request === null) return;
    const [ours = "", theirs] = request.username.split(":");
    const peer = this.#peers.get(ours);
    if (peer === undefined || theirs !== peer.remoteUfrag || !isProven(data, request, peer.password)) return;
    this.#learn(way, peer);
    this.#hand(peer, () => {
      socket.send(writeBindingResponse(request.transaction, address, port, peer.password), port, address, () => {});
      peer.reach({ send: (packet, onSent) => socket.send(packet, port, address, onSent) }, request.isNominating);
    });
  }

  #hand(peer: Peer, work: () => void): void {
    guardBy((error) => peer.fail(error))(work)();
  }

  #learn(way: string, peer: Peer): void {
    if (this.#ways.get(way) === peer) return;
    const own = [...this.#ways].filter(([, owner]) => owner === peer);
    for (const [oldest] of own.slice(0, own.length - ADDRESSES_PER_PEER + 1)) this.#ways.delete(oldest);
    this.#ways.set(way, peer);
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
