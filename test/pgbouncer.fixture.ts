/** PgBouncer of Debian with the configuration in deploy/pgbouncer, in front of a database of a test. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { readDatabaseUrl } from "../server/store/database.ts";
import { findFreePort, isListening } from "./ports.fixture.ts";

const PROGRAM = "/usr/sbin/pgbouncer";
const SHIPPED = new URL("../deploy/pgbouncer/pgbouncer.ini", import.meta.url);

/** For `skip` of a test: false, or the reason. */
export const pgbouncerIsMissing: false | string = existsSync(PROGRAM) ? false : "pgbouncer is not installed";

export interface PgBouncer {
  /** For `DATABASE_URL`, with `pgbouncer=true`. */
  readonly url: string;
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
}

/** Ends with the test. `settings` replace those of the shipped file. */
export async function openPgBouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const { host, user, database } = readDatabaseUrl(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), "windhover-pgbouncer-"));
  // As root, it runs as `postgres`, which may use the socket of the database.
  const isRoot = process.getuid?.() === 0;
  chmodSync(folder, 0o755);
  const port = await findFreePort();
  const users = join(folder, "userlist.txt");
  writeFileSync(users, `"${user}" ""\n`, { mode: 0o644 });
  const changed = {
    ...{ listen_addr: "127.0.0.1", listen_port: String(port), auth_type: "trust", auth_file: users },
    ...settings,
  };
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, describe(readFileSync(SHIPPED, "utf8"), { host, user, database }, changed));
  let child: ChildProcess | null = null;
  const kill = async () => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  const start = async () => {
    let log = "";
    const args = [...(isRoot ? ["-u", "postgres"] : []), file];
    child = spawn(PROGRAM, args, { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-4000);
    });
    while (!(await isListening(port))) {
      assert.equal(child.exitCode, null, `pgbouncer exited: ${log}`);
      await sleep(20);
    }
  };
  after(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  return { url: `postgres://${user}@127.0.0.1:${port}/windhover?pgbouncer=true`, kill, start };
}

interface Target {
  readonly host: string;
  readonly user: string;
  readonly database: string;
}

/** The shipped file, with this database and these settings; a setting that it does not have is added. */
function describe(text: string, { host, user, database }: Target, settings: Readonly<Record<string, string>>): string {
  const lines = text.split("\n").map((line) => {
    const [name = ""] = line.split(" = ");
    if (name === "windhover")
      return line.replace(/host=\S+ port=\S+ dbname=\S+/, `host=${host} dbname=${database} user=${user}`);
    return Object.hasOwn(settings, name) ? `${name} = ${settings[name]}` : line;
  });
  const added = Object.entries(settings).filter(([name]) => !lines.some((line) => line.startsWith(`${name} = `)));
  return [...lines, ...added.map(([name, value]) => `${name} = ${value}`), "unix_socket_dir =", ""].join("\n");
}
