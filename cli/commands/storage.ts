/** `storage check` and `storage migrate`. */
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../../schemas/config.ts";
import { loadConfig } from "../../server/config/load.ts";
import type { FileStore, Pieces } from "../../server/files/file-store.ts";
import { type LocalFile, listLocalFiles, migrateFile } from "../../server/files/migrate-files.ts";
import { openStore } from "../../server/files/open-files.ts";
import type { Sql } from "../../server/store/client.ts";
import { newUuid } from "../../server/uuid.ts";
import { type Command, CommandFailure, EXIT, expectPositionals, type Given } from "../command.ts";
import { DATABASE_OPTIONS, withDatabase } from "../database.ts";
import { Progress } from "../progress.ts";
import { configSources } from "../workspace.ts";

const readConfig = (given: Given): Config => loadConfig(configSources(given.text("config"))).config;

/** In several parts. */
const TEST_BYTES = 20 * 2 ** 20;

export const storageCheck = {
  name: "storage check",
  about: "Check the file storage: write, read, list and delete a test file.",
  usage: "",
  options: DATABASE_OPTIONS,
  notes:
    "Checks the bucket (storage.s3), or data_dir if none is configured, with the credentials of this environment. The test file has 20 MiB, so that it is sent in several parts; its key begins with check/.",
  examples: ["storage check", "storage check --json"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    const store = await openStore(readConfig(given));
    const steps: { step: string; ms: number }[] = [];
    const key = `check/${newUuid()}`;
    const run = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
      const startedMs = performance.now();
      try {
        return await work();
      } catch (error) {
        throw new CommandFailure(`${step} failed in ${store.label}: ${explain(error)}`, { cause: error });
      } finally {
        steps.push({ step, ms: Math.round(performance.now() - startedMs) });
      }
    };
    try {
      await checkStore(store, key, run);
    } finally {
      await store.remove(key).catch(() => {});
      store.close();
    }
    if (given.flag("json")) await terminal.print(JSON.stringify({ storage: store.label, steps }, null, 2));
    else {
      await terminal.printTable(
        ["STEP", "MS"],
        steps.map(({ step, ms }) => [step, String(ms)]),
      );
      await terminal.print(`${store.label} works`);
    }
    return EXIT.ok;
  },
} satisfies Command;

type Run = <T>(step: string, work: () => Promise<T>) => Promise<T>;

async function checkStore(store: FileStore, key: string, run: Run): Promise<void> {
  const content = randomBytes(TEST_BYTES);
  const folder = await mkdtemp(join(tmpdir(), "windhover-check-"));
  try {
    const path = join(folder, "file");
    await writeFile(path, content);
    await run("write 20 MiB", () => store.put(key, path));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await run("read 20 MiB", async () => {
    const isSame = digest(await collect(await store.read(key))).equals(digest(content));
    if (!isSame) throw new Error("the content is not what was written");
  });
  await run("read a range", async () => {
    const [first, last] = [TEST_BYTES - 1000, TEST_BYTES - 501];
    const part = await collect(await store.read(key, { first, last }));
    if (!part.equals(content.subarray(first, last + 1))) throw new Error("the range is not what was written");
  });
  await run("list", async () => {
    for await (const file of store.list(key)) if (file.sizeBytes === TEST_BYTES) return;
    throw new Error("the file is not listed");
  });
  await run("delete", async () => {
    await store.remove(key);
    if ((await store.stat(key)) !== null) throw new Error("the file is still there");
  });
}

async function collect(pieces: Pieces): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

const digest = (content: Buffer): Buffer => createHash("sha256").update(content).digest();

/** With the message of the service, for operators. */
const explain = (error: unknown): string => (error as { reason?: string }).reason ?? (error as Error).message;

export const storageMigrate = {
  name: "storage migrate",
  about: "Move videos and recordings from data_dir to the bucket (storage.s3).",
  usage: "",
  options: {
    "dry-run": { type: "boolean", about: "Only list what would be moved." },
    keep: { type: "boolean", about: "Do not delete the local files." },
    ...DATABASE_OPTIONS,
  },
  notes:
    "For a service that ran without a bucket. Run it on every node, with its data_dir. A local file is deleted when the bucket has all of it; after an interruption, run it again: it continues. Files without a source, recording or process in the database, and recordings in progress, are left. The service may run meanwhile.",
  examples: ["storage migrate --dry-run", "storage migrate", "storage migrate --keep --json"],
  async run(given, terminal) {
    expectPositionals(given, 0, 0, "no argument");
    const config = readConfig(given);
    if (config.storage.s3.bucket === null)
      throw new CommandFailure("no bucket is configured; set storage.s3.bucket first");
    const store = await openStore(config);
    const [isDry, isKept, isJson] = [given.flag("dry-run"), given.flag("keep"), given.flag("json")];
    if (isJson) terminal.speakJson();
    const progress = new Progress(terminal, isDry ? "files" : "moved");
    const moved: LocalFile[] = [];
    try {
      const left = await withDatabase(given, false, async (sql: Sql) => {
        const { known, unknown } = await listLocalFiles(sql, resolve(config.data_dir));
        for (const [index, file] of known.entries()) {
          progress.show(index, known.length, file.key);
          if (!isDry)
            await migrateFile(sql, store, file, isKept).catch((error: unknown) => {
              const { code } = error as { code?: string };
              if (code !== "storage_unavailable") throw error;
              throw new CommandFailure(`${explain(error)}; ${moved.length} files were moved: run it again to continue`);
            });
          moved.push(file);
          if (!isJson) await terminal.print(`${file.key}  ${file.sizeBytes}`);
        }
        return unknown;
      });
      progress.end();
      const bytes = moved.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      if (isJson) {
        const files = moved.map(({ key, sizeBytes }) => ({ key, size_bytes: sizeBytes }));
        await terminal.print(JSON.stringify({ dry_run: isDry, files, bytes, left }, null, 2));
      } else {
        const word = isDry ? "would be moved" : isKept ? "copied" : "moved";
        terminal.say(`${moved.length} files (${bytes} bytes) ${word} to ${store.label}; ${left.length} left`);
      }
      return EXIT.ok;
    } finally {
      progress.end();
      store.close();
    }
  },
} satisfies Command;
