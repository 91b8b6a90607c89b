/**
 * Seals what must not be readable in the database or a dump of it: AES-256-GCM, under the key whose id is written in front.
 *
 * The nonce is a keyed digest of the text (as in SIV modes): the same text is sealed the same way every time, so that the
 * database can compare sealed values. It reveals which values are equal and how long they are, and nothing else.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";

export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = "sealed";
/** At most 8 MB with the texts. */
const MAX_CACHED = 4096;
const MAX_CACHED_CHARACTERS = 1024;

export interface Sealer {
  seal(text: string): string;
  /** Throws where it was not sealed, by a key that is not given, or was altered since. */
  open(sealed: string): string;
}

/** For commands that touch no secrets, and therefore need no key. */
export const CLOSED: Sealer = {
  seal: () => {
    throw new Error("secrets cannot be written without their key");
  },
  open: () => {
    throw new Error("secrets cannot be read without their key");
  },
};

interface Key {
  readonly id: string;
  readonly encryption: Buffer;
  readonly nonces: Buffer;
}

export class Keyring implements Sealer {
  readonly #keys: ReadonlyMap<string, Key>;
  readonly #current: Key;
  /** Recently opened: a listing opens the same secrets again and again, and deciphering them was most of its cost. */
  readonly #opened = new Map<string, string>();

  /** The first seals, all of them open. */
  constructor(keys: readonly Uint8Array[]) {
    const derived = keys.map(deriveKey);
    const [current] = derived;
    if (current === undefined) throw new Error("a keyring needs a key");
    this.#current = current;
    this.#keys = new Map(derived.map((key) => [key.id, key]));
  }

  get currentId(): string {
    return this.#current.id;
  }

  get ids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  seal(text: string): string {
    const { id, encryption, nonces } = this.#current;
    const nonce = createHmac("sha256", nonces).update(text).digest().subarray(0, NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", encryption, nonce);
    const bytes = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${PREFIX}.${id}.${bytes.toString("base64url")}`;
  }

  open(sealed: string): string {
    const known = this.#opened.get(sealed);
    if (known !== undefined) return known;
    const text = this.#decipher(sealed);
    if (sealed.length > MAX_CACHED_CHARACTERS) return text;
    this.#opened.set(sealed, text);
    if (this.#opened.size > MAX_CACHED) this.#opened.delete(this.#opened.keys().next().value ?? "");
    return text;
  }

  #decipher(sealed: string): string {
    const id = readKeyId(sealed);
    if (id === null) throw new Error("a secret in the database is not sealed");
    const key = this.#keys.get(id);
    if (key === undefined) throw new Error(`a secret in the database is sealed by the key ${id}, which is not given`);
    const bytes = Buffer.from(sealed.slice(prefixOf(id).length), "base64url");
    const decipher = createDecipheriv("aes-256-gcm", key.encryption, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    } catch (cause) {
      throw new Error(`a secret in the database was altered after it was sealed by the key ${id}`, { cause });
    }
  }
}

export const prefixOf = (id: string): string => `${PREFIX}.${id}.`;

/** Null for what is not sealed. */
export const readKeyId = (text: string): string | null => /^sealed\.([0-9a-f]{12})\./.exec(text)?.[1] ?? null;

function deriveKey(key: Uint8Array): Key {
  if (key.length !== KEY_BYTES) throw new Error(`a key has ${KEY_BYTES} bytes, not ${key.length}`);
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", key, "", `windhover secrets ${purpose}`, 32));
  return { id: derive("id").toString("hex").slice(0, 12), encryption: derive("encryption"), nonces: derive("nonces") };
}
