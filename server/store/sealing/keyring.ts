/**
 * Encrypts secrets in the database: AES-256-GCM, with the id of the key in front.
 *
 * The nonce is a keyed digest of the text (as in SIV modes): equal texts are sealed equally, so that the database can compare
 * sealed values. This reveals which values are equal and how long they are, and nothing else.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { chown, open, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../../schemas/config.ts";
import { DatabaseFault, type Sealer } from "../client.ts";

export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = "sealed";
/** At most 8 MB with the texts. */
const MAX_CACHED = 4096;
const MAX_CACHED_CHARACTERS = 1024;

/** For commands that need no secrets, and therefore no key. */
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
  /** Recently opened: a listing opens the same secrets repeatedly, and deciphering was most of its cost. */
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
    if (key === undefined) throw new Error(`a secret in the database is sealed with the key ${id}, which is missing`);
    const bytes = Buffer.from(sealed.slice(prefixOf(id).length), "base64url");
    const decipher = createDecipheriv("aes-256-gcm", key.encryption, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    } catch (cause) {
      throw new Error(`a secret in the database was altered after it was sealed with the key ${id}`, { cause });
    }
  }
}

export const prefixOf = (id: string): string => `${PREFIX}.${id}.`;

/** Null if it is not sealed. */
export const readKeyId = (text: string): string | null => /^sealed\.([0-9a-f]{12})\./.exec(text)?.[1] ?? null;

function deriveKey(key: Uint8Array): Key {
  if (key.length !== KEY_BYTES) throw new Error(`a key has ${KEY_BYTES} bytes, not ${key.length}`);
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", key, "", `windhover secrets ${purpose}`, 32));
  return { id: derive("id").toString("hex").slice(0, 12), encryption: derive("encryption"), nonces: derive("nonces") };
}

/** Keys as text, the current one first: 64 hexadecimal digits each, separated by spaces, commas or line breaks. `#` starts a comment. */
export function readKeys(text: string): readonly Uint8Array[] | null {
  const words = text
    .replaceAll(/#.*$/gm, "")
    .split(/[\s,]+/)
    .filter((word) => word !== "");
  if (words.length === 0 || words.some((word) => !/^[0-9a-fA-F]+$/.test(word) || word.length !== 2 * KEY_BYTES))
    return null;
  return words.map((word) => Buffer.from(word, "hex"));
}

export const EXPECTED_KEYS = "64 hexadecimal digits (`openssl rand -hex 32`); of several keys the current one first";

/** From the configuration, or from a file that the first start creates. */
export interface LoadedKeyring {
  readonly keyring: Keyring;
  /** For messages: `secrets.key`, or the file. */
  readonly place: string;
  /** Generated and not stored yet: `keep` writes it into its file. */
  readonly isNew: boolean;
  keep(): Promise<void>;
}

const NAME = "secrets.key";

/** Rejects with `DatabaseFault`. */
export async function loadKeyring(config: Pick<Config, "data_dir" | "secrets">): Promise<LoadedKeyring> {
  const { key, key_file: named } = config.secrets;
  const keep = async () => {};
  if (key !== null) return { keyring: makeKeyring(key, "secrets.key"), place: "secrets.key", isNew: false, keep };
  const file = named ?? join(resolve(config.data_dir), NAME);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" && named === null) return null;
    throw new DatabaseFault(
      `The key for secrets in the database cannot be read from ${file} (secrets.key_file): ${error.message}.`,
      { cause: error },
    );
  });
  if (text !== null) return { keyring: makeKeyring(text, file), place: file, isNew: false, keep };
  const fresh = randomBytes(KEY_BYTES);
  return { keyring: new Keyring([fresh]), place: file, isNew: true, keep: () => write(file, fresh) };
}

function makeKeyring(text: string, place: string): Keyring {
  const keys = readKeys(text);
  if (keys === null) throw new DatabaseFault(`${place} contains no valid keys; expected ${EXPECTED_KEYS}.`);
  return new Keyring(keys);
}

/** Synced before anything is sealed with it. Owned by the owner of its folder: root may create it for the service. */
async function write(file: string, key: Uint8Array): Promise<void> {
  const text =
    `# Encrypts passwords and other secrets in the database: without it they are lost. Back it up, separately from the database.\n` +
    `${Buffer.from(key).toString("hex")}\n`;
  try {
    const handle = await open(file, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { uid, gid } = await stat(dirname(file));
    if (process.getuid?.() === 0) await chown(file, uid, gid);
  } catch (cause) {
    throw new DatabaseFault(
      `A key for the secrets in the database cannot be written to ${file}: ${(cause as Error).message}. Set secrets.key or secrets.key_file.`,
      { cause },
    );
  }
}
