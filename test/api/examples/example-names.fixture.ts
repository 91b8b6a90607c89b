/** Replaces what belongs to one run (ids, keys, tokens, addresses) by values for documentation. */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const KEY = /wh_[0-9a-f]{12}_[\w-]{43}/g;
const SECRET = /whsec_[A-Za-z0-9+/]+=*/g;
const FINGERPRINT = /(?:[0-9A-F]{2}:){31}[0-9A-F]{2}/g;
const TOKEN = /\b(token|code_challenge|state|code|client_id)=[\w.-]+/g;

export class ExampleNames {
  readonly #ids = new Map<string, string>();
  readonly #words: readonly (readonly [string, string])[];

  /** @param words of this run, with what stands for them in the documentation */
  constructor(words: Readonly<Record<string, string>>) {
    // Longer ones first: they may contain shorter ones.
    this.#words = Object.entries(words).sort(([a], [b]) => b.length - a.length);
  }

  apply(value: unknown): unknown {
    return JSON.parse(this.#replace(JSON.stringify(value)));
  }

  #replace(text: string): string {
    const named = this.#words.reduce((all, [word, name]) => all.replaceAll(word, name), text);
    return named
      .replaceAll(UUID, (uuid) => this.#nameOf(uuid))
      .replaceAll(KEY, "wh_0123456789ab_YOUR-KEY")
      .replaceAll(SECRET, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX")
      .replaceAll(FINGERPRINT, Array(32).fill("00").join(":"))
      .replaceAll(TOKEN, "$1=…");
  }

  /** In the order of appearance. */
  #nameOf(uuid: string): string {
    const known = this.#ids.get(uuid) ?? `01980000-0000-7000-8000-${String(this.#ids.size + 1).padStart(12, "0")}`;
    this.#ids.set(uuid, known);
    return known;
  }
}
