/**
 * Decides which address of a viewer video is sent to. Requests can have a forged source address, so that a viewer could aim
 * its video at somebody else: an address is used only after it has answered a check of ours (RFC 8445, as the controlled
 * agent), and only as long as it goes on answering (consent freshness, RFC 7675).
 */
import { randomBytes } from "node:crypto";
import type { Guard } from "../guard.ts";
import { isProven, readBindingResponse, writeBindingRequest } from "./stun.ts";
import type { Route } from "./udp-port.ts";

export interface RouteChecksOptions {
  readonly ufrag: string;
  readonly remoteUfrag: string;
  readonly remotePassword: string;
  /** How long an answer to a check permits sending. */
  readonly consentMs: number;
  /** Called once: the address in use no longer answers. */
  readonly onExpired: () => void;
  readonly guard: Guard;
}

interface Check {
  readonly transaction: Buffer;
  readonly isNominating: boolean;
  readonly sentAtMs: number;
}

/** Unanswered checks of one address; a later one replaces the oldest. */
const PENDING = 8;
/** Between two checks of one address: bounds what requests with a forged source can make us send there. */
const CHECK_INTERVAL_MS = 50;
const CONSENT_INTERVAL_MS = 5000;

export class RouteChecks {
  readonly #options: RouteChecksOptions;
  readonly #pending = new WeakMap<Route, Check[]>();
  #selected: Route | null = null;
  #consentAtMs = 0;
  #timer: NodeJS.Timeout | null = null;

  readonly #refresh: () => void;

  constructor(options: RouteChecksOptions) {
    this.#options = options;
    this.#refresh = options.guard(() => {
      this.#timer = null;
      if (this.#selected === null) return;
      if (performance.now() - this.#consentAtMs > options.consentMs) {
        this.#selected = null;
        options.onExpired();
        return;
      }
      this.#check(this.#selected, false);
      this.#schedule();
    });
  }

  /** Where to send. Null: nowhere yet, or no longer. */
  get route(): Route | null {
    return this.#selected;
  }

  /** A signed request came from this address. An address that is not in use is checked before it is. */
  handleRequest(route: Route, isNominating: boolean): void {
    const isWanted = route !== this.#selected && (isNominating || this.#selected === null);
    if (isWanted) this.#check(route, isNominating);
  }

  /** Does nothing unless it is the answer to a check of ours to this address. */
  handleStun(route: Route, data: Buffer): void {
    const response = readBindingResponse(data);
    if (response === null) return;
    const isAnswered = ({ transaction }: Check) => transaction.equals(response.transaction);
    const check = this.#pending.get(route)?.find(isAnswered);
    if (check === undefined || !isProven(data, response, this.#options.remotePassword)) return;
    if (route !== this.#selected && this.#selected !== null && !check.isNominating) return;
    // Late answers to earlier checks must not undo a later choice.
    this.#pending.delete(route);
    this.#selected = route;
    this.#consentAtMs = performance.now();
    if (this.#timer === null) this.#schedule();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#selected = null;
  }

  #check(route: Route, isNominating: boolean): void {
    const pending = this.#pending.get(route) ?? [];
    const nowMs = performance.now();
    if (nowMs - (pending.at(-1)?.sentAtMs ?? -Infinity) < CHECK_INTERVAL_MS) return;
    const transaction = randomBytes(12);
    if (pending.push({ transaction, isNominating, sentAtMs: nowMs }) > PENDING) pending.shift();
    this.#pending.set(route, pending);
    const { ufrag, remoteUfrag, remotePassword } = this.#options;
    route.send(writeBindingRequest(transaction, `${remoteUfrag}:${ufrag}`, remotePassword), () => {});
  }

  /** Several checks within the time that one answer is good for: one may be lost. Not all viewers at once. */
  #schedule(): void {
    const intervalMs = Math.min(CONSENT_INTERVAL_MS, this.#options.consentMs / 4);
    this.#timer = setTimeout(this.#refresh, intervalMs * (0.8 + 0.4 * Math.random()));
  }
}
