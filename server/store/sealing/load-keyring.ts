/** The keys that secrets in the database are sealed with, from the configuration or from a file that the first start makes. */
import { randomBytes } from "node:crypto";
import { chown, open, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../../schemas/config.ts";
import { DatabaseFault } from "../fault.ts";
import { KEY_BYTES, Keyring } from "./keyring.ts";
import { EXPECTED_KEYS, readKeys } from "./read-keys.ts";

export interface LoadedKeyring {
  readonly keyring: Keyring;
  /** For messages: `secrets.key`, or the file. */
  readonly place: string;
  /** Made just now, and nowhere yet: `keep` writes it into its file. */
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
      `The key that secrets in the database are sealed with cannot be read from ${file} (secrets.key_file): ${error.message}.`,
      { cause: error },
    );
  });
  if (text !== null) return { keyring: makeKeyring(text, file), place: file, isNew: false, keep };
  const fresh = randomBytes(KEY_BYTES);
  return { keyring: new Keyring([fresh]), place: file, isNew: true, keep: () => write(file, fresh) };
}

function makeKeyring(text: string, place: string): Keyring {
  const keys = readKeys(text);
  if (keys === null) throw new DatabaseFault(`${place} holds no keys for secrets; expected ${EXPECTED_KEYS}.`);
  return new Keyring(keys);
}

/** On the disk before anything is sealed with it. Of the owner of its folder: a command that root runs makes it for the service. */
async function write(file: string, key: Uint8Array): Promise<void> {
  const text =
    `# Seals passwords and other secrets in the database: without it they are lost. Back it up, apart from the database.\n` +
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
