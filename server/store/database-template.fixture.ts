/**
 * A migrated database to copy: making one takes seconds of a processor, and copying one a tenth of a second. It is kept
 * in build/ for as long as what it was made from stays the same.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pino } from "pino";
import type { Config } from "../../schemas/config.ts";
import { type DatabaseLimits, openDatabase } from "./database.ts";
import { readMigrations } from "./migrate.ts";
import { findPrograms } from "./postgres-setup.ts";

const run = promisify(execFile);
const TEMPLATES = fileURLToPath(new URL("../../build/test-database/", import.meta.url));
const INITIALISE = new URL("./postgres-setup.ts", import.meta.url);
/** Long enough for a machine that is busy with other tests. */
const CONFIG: Config["database"] = { url: null, connections: 2, start_seconds: 120, statement_seconds: 120 };
const LIMITS: DatabaseLimits = { stopSeconds: 120, waitMs: 120_000, restart: { firstMs: 1_000, maxMs: 1_000 } };

/** Puts a ready database into this data directory, so that a server does not have to create one. */
export async function copyDatabase(dataDir: string): Promise<void> {
  const template = await findTemplate();
  const folder = join(dataDir, "postgres");
  await mkdir(folder, { recursive: true });
  await copy(template, join(folder, "data"));
}

/** That the user of PostgreSQL may enter too. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-db-"));
  await chmod(folder, 0o755);
  return folder;
}

/** With owners and modes, by which PostgreSQL knows its own. */
const copy = (from: string, to: string) =>
  run("cp", ["--archive", "--reflink=auto", "--no-target-directory", from, to]);

let found: Promise<string> | null = null;

/** Its folder. Makes it first if necessary. */
export function findTemplate(): Promise<string> {
  found ??= (async () => {
    const template = join(TEMPLATES, await describe());
    if (!existsSync(template)) await makeTemplate(template);
    return template;
  })();
  return found;
}

async function describe(): Promise<string> {
  const hash = createHash("sha256").update(await readFile(INITIALISE));
  for (const { name, text } of await readMigrations()) hash.update(name).update(text);
  const { version } = await findPrograms(null, "");
  return `${version}-${process.getuid?.()}-${hash.digest("hex").slice(0, 16)}`;
}

/** Of several that create it at once the first wins; an incomplete one is never visible. */
async function makeTemplate(template: string): Promise<void> {
  const begun = await testFolder();
  const fresh = `${template}.${process.pid}`;
  try {
    const database = await openDatabase(
      { data_dir: begun, database: CONFIG, secrets: { key: null, key_file: null } },
      pino({ level: "silent" }),
      LIMITS,
    );
    await database.close();
    await mkdir(TEMPLATES, { recursive: true });
    await copy(join(begun, "postgres/data"), fresh);
    await rename(fresh, template).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    for (const name of await readdir(TEMPLATES))
      if (name !== basename(template) && !name.includes("."))
        await rm(join(TEMPLATES, name), { recursive: true, force: true });
  } finally {
    await rm(fresh, { recursive: true, force: true });
    await rm(begun, { recursive: true, force: true });
  }
}
