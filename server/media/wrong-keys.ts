/** Wrong keys that came to the media hub, by address. Whoever has sent too many is answered slowly. */
import { TokenBuckets } from "../async/token-buckets.ts";
import { networkOf } from "../keys/login-gate.ts";

export class WrongKeys {
  readonly #perMinute: number;
  readonly #buckets: TokenBuckets;

  constructor(perMinute: number, buckets = new TokenBuckets()) {
    this.#perMinute = perMinute;
    this.#buckets = buckets;
  }

  isSlow(address: string): boolean {
    return this.#buckets.peek(networkOf(address), this.#perMinute) > 0;
  }

  /** Never: nobody is turned away for what others from the same address did. */
  begin(): void {}

  end(address: string, wasWrong: boolean): void {
    if (wasWrong) this.#buckets.take(networkOf(address), this.#perMinute);
  }
}
