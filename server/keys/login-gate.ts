/** Wrong keys, counted by address. Whoever guesses soon has to wait, for right ones too: an answer would tell. */
import { isIPv6 } from "node:net";
import { TokenBuckets } from "../api/token-buckets.ts";
import { ServiceError } from "../service-error.ts";

export class LoginGate {
  readonly #perMinute: number;
  readonly #buckets: TokenBuckets;

  constructor(perMinute: number, buckets = new TokenBuckets()) {
    this.#perMinute = perMinute;
    this.#buckets = buckets;
  }

  /** Throws `rate_limited` while the address has to wait. */
  expectRoom(address: string): void {
    const wait = this.#buckets.peek(networkOf(address), this.#perMinute);
    if (wait === 0) return;
    throw new ServiceError("rate_limited", {
      detail: `Too many wrong keys came from this address; ${this.#perMinute} a minute may.`,
      retryAfterSeconds: wait,
    });
  }

  countFailure(address: string): void {
    this.#buckets.take(networkOf(address), this.#perMinute);
  }
}

/** Of IPv6 the first half: a single client has all addresses of the second. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail = ""] = address.split("%")[0]?.toLowerCase().split("::") ?? [];
  const front = head === "" ? [] : head.split(":");
  const back = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::")
    ? Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0")
    : [];
  return [...front, ...zeros, ...back].slice(0, 4).join(":");
}
