/** Wrong keys, counted by address. Whoever guesses soon has to wait, for right ones too: an answer would tell. */
import { isIPv6 } from "node:net";
import { TokenBuckets } from "../async/token-buckets.ts";
import { ServiceError } from "../service-error.ts";

export class LoginGate {
  readonly #perMinute: number;
  readonly #buckets: TokenBuckets;
  /** Keys that are being looked up, by network: each may be a wrong one. */
  readonly #underWay = new Map<string, number>();

  constructor(perMinute: number, buckets = new TokenBuckets()) {
    this.#perMinute = perMinute;
    this.#buckets = buckets;
  }

  /** Throws `rate_limited` while the address has to wait. */
  begin(address: string): void {
    const network = networkOf(address);
    const underWay = this.#underWay.get(network) ?? 0;
    const wait = this.#buckets.peek(network, this.#perMinute, underWay);
    if (wait === 0) {
      this.#underWay.set(network, underWay + 1);
      return;
    }
    throw new ServiceError("rate_limited", {
      detail: `Too many wrong keys came from this address; ${this.#perMinute} a minute may.`,
      retryAfterSeconds: wait,
    });
  }

  end(address: string, wasWrong: boolean): void {
    const network = networkOf(address);
    const underWay = (this.#underWay.get(network) ?? 1) - 1;
    if (underWay === 0) this.#underWay.delete(network);
    else this.#underWay.set(network, underWay);
    if (wasWrong) this.#buckets.take(network, this.#perMinute);
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
