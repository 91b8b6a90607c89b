/**
 * Answers as they were sent, kept until what they show changes: see `version` of an endpoint. Bounded in number and bytes;
 * the least recently used are dropped first.
 */
export interface SentAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

const MAX_ANSWERS = 1000;
const MAX_BYTES = 2 ** 24;
/** A larger answer is not kept. */
const MAX_ANSWER_BYTES = 2 ** 20;

interface Kept {
  readonly version: string;
  readonly answer: SentAnswer;
  readonly bytes: number;
}

export class KeptAnswers {
  /** In the order of last use. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Null if there is none of this version. */
  find(key: string, version: string): SentAnswer | null {
    const kept = this.#kept.get(key);
    if (kept?.version !== version) return null;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept.answer;
  }

  /** Replaces the one of another version. Resolves with what is kept: the body as bytes. */
  keep(key: string, version: string, answer: SentAnswer): SentAnswer {
    this.#remove(key);
    const body = Buffer.from(answer.body);
    const bytes = body.length + 2 * key.length;
    const kept = { version, bytes, answer: { ...answer, body } };
    if (bytes > MAX_ANSWER_BYTES) return kept.answer;
    this.#kept.set(key, kept);
    this.#bytes += bytes;
    while (this.#kept.size > MAX_ANSWERS || this.#bytes > MAX_BYTES) this.#remove(this.#kept.keys().next().value ?? "");
    return kept.answer;
  }

  #remove(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}
