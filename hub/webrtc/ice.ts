/**
 * ICE for WebRTC viewers on one shared UDP port. The port drops datagrams of an address until it has sent a binding request
 * signed with the password of an answer. Because source addresses can be forged, video is sent only to an address that has
 * answered a check (RFC 8445, controlled agent), and only while it keeps answering (consent freshness, RFC 7675).
 */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { type Guard, guardBy } from "../errors.ts";
import { bindUdp } from "../udp.ts";
import {
  isAuthentic,
  isStun,
  readBindingRequest,
  readBindingResponse,
  writeBindingRequest,
  writeBindingResponse,
} from "./stun.ts";

/** One address of one viewer. The object stays the same while the address is known. */
export interface Route {
  send(data: Buffer, onSent: () => void): void;
}

/** Receives datagrams. */
export interface Peer {
  readonly ufrag: string;
  readonly password: string;
  readonly remoteUfrag: string;
  readonly checks: RouteChecks;
  /** A datagram other than STUN from the selected address. */
  handleDatagram(data: Buffer): void;
  /** A handler threw an error: a bug. */
  fail(error: unknown): void;
}

interface KnownPeer {
  readonly peer: Peer;
  /** By `address port`, the latest signed request last. */
  readonly routes: Map<string, Route>;
}

/** Beyond this, the oldest address of a viewer is dropped. */
const ADDRESSES_PER_PEER = 8;

export class UdpPort {
  readonly #sockets: Socket[];
  readonly #peers = new Map<string, KnownPeer>();
  /** By `address port`: several, if one viewer forges the address of another. */
  readonly #sources = new Map<string, Set<KnownPeer>>();
  readonly port: number;
  readonly hasIpv6: boolean;

  private constructor(sockets: Socket[], port: number) {
    this.#sockets = sockets;
    this.port = port;
    this.hasIpv6 = sockets.length > 1;
    for (const socket of sockets)
      socket.on("message", (data, { address, port }) => this.#receive(socket, data, address, port));
  }

  /** Binds the first free port of the range; any, if it starts with 0. */
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
    for (const source of known.routes.keys()) this.#removeSource(source, known);
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
    this.#peers.clear();
    this.#sources.clear();
  }

  #receive(socket: Socket, data: Buffer, address: string, port: number): void {
    // Sending to port 0 would throw.
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
    if (!isAuthentic(data, request, peer.password)) return;
    const route = this.#addRoute(source, known, (packet, onSent) => socket.send(packet, port, address, onSent));
    this.#guarded(peer, () => {
      route.send(writeBindingResponse(request.transaction, address, port, peer.password), () => {});
      peer.checks.handleRequest(route, request.isNominating);
    });
  }

  #pass({ peer, routes }: KnownPeer, source: string, data: Buffer): void {
    const route = routes.get(source);
    if (route === undefined) return;
    if (isStun(data)) this.#guarded(peer, () => peer.checks.handleStun(route, data));
    else if (route === peer.checks.route) this.#guarded(peer, () => peer.handleDatagram(data));
  }

  #guarded(peer: Peer, work: () => void): void {
    guardBy((error) => peer.fail(error))(work)();
  }

  #addRoute(source: string, known: KnownPeer, send: Route["send"]): Route {
    const { routes } = known;
    const route = routes.get(source) ?? { send };
    // Moved to the end: the first is the longest silent one.
    routes.delete(source);
    routes.set(source, route);
    const [oldest] = routes.keys();
    if (oldest !== undefined && routes.size > ADDRESSES_PER_PEER) {
      routes.delete(oldest);
      this.#removeSource(oldest, known);
    }
    const owners = this.#sources.get(source) ?? new Set();
    this.#sources.set(source, owners.add(known));
    return route;
  }

  #removeSource(source: string, known: KnownPeer): void {
    const owners = this.#sources.get(source);
    owners?.delete(known);
    if (owners?.size === 0) this.#sources.delete(source);
  }
}

// Destinations are always numeric: no name lookup.
const lookup = (host: string, _options: unknown, done: (error: null, address: string, family: number) => void) =>
  done(null, host, isIPv6(host) ? 6 : 4);

const bind = (type: "udp4" | "udp6", port: number): Promise<Socket> =>
  bindUdp({ type, ipv6Only: type === "udp6", lookup }, { port });

export interface RouteChecksOptions {
  readonly ufrag: string;
  readonly remoteUfrag: string;
  readonly remotePassword: string;
  /** How long an answered check permits sending. */
  readonly consentMs: number;
  /** Called once: the selected address no longer answers. */
  readonly onExpired: () => void;
  readonly guard: Guard;
}

interface Check {
  readonly transaction: Buffer;
  readonly isNominating: boolean;
  readonly sentAtMs: number;
}

/** Unanswered checks per address; a new one replaces the oldest. */
const MAX_PENDING = 8;
/** Minimum interval of checks of one address: limits what forged requests can make the server send there. */
const CHECK_INTERVAL_MS = 50;
const CONSENT_INTERVAL_MS = 5000;

/** Selects the address of a viewer that video is sent to. */
export class RouteChecks {
  readonly #options: RouteChecksOptions;
  /** The selected address. Null: none yet, or consent has expired. */
  route: Route | null = null;
  readonly #pending = new WeakMap<Route, Check[]>();
  #consentAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #refresh: () => void;

  constructor(options: RouteChecksOptions) {
    this.#options = options;
    this.#refresh = options.guard(() => {
      this.#timer = undefined;
      if (this.route === null) return;
      if (performance.now() - this.#consentAtMs > options.consentMs) {
        this.route = null;
        options.onExpired();
        return;
      }
      this.#check(this.route, false);
      this.#schedule();
    });
  }

  /** A signed request from this address. Checks the address unless it is selected. */
  handleRequest(route: Route, isNominating: boolean): void {
    const isWanted = route !== this.route && (isNominating || this.route === null);
    if (isWanted) this.#check(route, isNominating);
  }

  /** Ignores everything but the answer to a check of this address. */
  handleStun(route: Route, data: Buffer): void {
    const response = readBindingResponse(data);
    if (response === null) return;
    const isAnswered = ({ transaction }: Check) => transaction.equals(response.transaction);
    const check = this.#pending.get(route)?.find(isAnswered);
    if (check === undefined || !isAuthentic(data, response, this.#options.remotePassword)) return;
    if (route !== this.route && this.route !== null && !check.isNominating) return;
    // Late answers to earlier checks must not undo a later selection.
    this.#pending.delete(route);
    this.route = route;
    this.#consentAtMs = performance.now();
    if (this.#timer === undefined) this.#schedule();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.route = null;
  }

  #check(route: Route, isNominating: boolean): void {
    const pending = this.#pending.get(route) ?? [];
    const nowMs = performance.now();
    if (nowMs - (pending.at(-1)?.sentAtMs ?? -Infinity) < CHECK_INTERVAL_MS) return;
    const transaction = randomBytes(12);
    if (pending.push({ transaction, isNominating, sentAtMs: nowMs }) > MAX_PENDING) pending.shift();
    this.#pending.set(route, pending);
    const { ufrag, remoteUfrag, remotePassword } = this.#options;
    route.send(writeBindingRequest(transaction, `${remoteUfrag}:${ufrag}`, remotePassword), () => {});
  }

  /** Several checks per consent period, because one may be lost; with jitter, to spread viewers. */
  #schedule(): void {
    const intervalMs = Math.min(CONSENT_INTERVAL_MS, this.#options.consentMs / 4);
    this.#timer = setTimeout(this.#refresh, intervalMs * (0.8 + 0.4 * Math.random()));
  }
}
