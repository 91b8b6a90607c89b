/** Rate limits per minute, one token bucket per key. Bounded: the least recently used bucket is dropped first. */
const MAX_BUCKETS = 20_000;

interface Bucket {
  tokens: number;
  filledMs: number;
}

export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;
  readonly #max: number;

  constructor(now: () => number = () => performance.now(), max = MAX_BUCKETS) {
    this.#now = now;
    this.#max = max;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token and returns 0, or returns the seconds until the next token. */
  take(key: string, perMinute: number): number {
    const bucket = this.#fill(key, perMinute);
    const wait = secondsUntilOne(bucket, perMinute);
    if (wait === 0) bucket.tokens -= 1;
    return wait;
  }

  /** Like `take`, without taking a token. `promised` tokens count as taken. */
  peek(key: string, perMinute: number, promised = 0): number {
    if (promised === 0 && !this.#buckets.has(key)) return 0;
    const { tokens, filledMs } = this.#fill(key, perMinute);
    return secondsUntilOne({ tokens: tokens - promised, filledMs }, perMinute);
  }

  /** Whole tokens that are left, and the seconds until the bucket is full. */
  left(key: string, perMinute: number): { readonly tokens: number; readonly fullSeconds: number } {
    const { tokens } = this.#fill(key, perMinute);
    return { tokens: Math.floor(tokens), fullSeconds: Math.ceil(((perMinute - tokens) * 60) / perMinute) };
  }

  #fill(key: string, perMinute: number): Bucket {
    const nowMs = this.#now();
    const bucket = this.#buckets.get(key) ?? { tokens: perMinute, filledMs: nowMs };
    bucket.tokens = Math.min(perMinute, bucket.tokens + ((nowMs - bucket.filledMs) * perMinute) / 60_000);
    bucket.filledMs = nowMs;
    // Moved to the end: the map's order is the order of last use.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > this.#max) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
    return bucket;
  }
}

const secondsUntilOne = ({ tokens }: Bucket, perMinute: number): number =>
  tokens >= 1 ? 0 : ((1 - tokens) * 60) / perMinute;
