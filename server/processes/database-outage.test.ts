import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../../test/watch.fixture.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import { type Database, openDatabase } from "../store/database.ts";
import { copyDatabase, testFolder } from "../store/database-template.fixture.ts";
import { openStage, type Stage } from "./supervisor.fixture.ts";

let folder: string;
let database: Database;
let stage: Stage;
before(async () => {
  folder = await testFolder();
  await copyDatabase(folder);
  database = await openDatabase(makeConfig({ DATA_DIR: folder }), silentLog);
  stage = await openStage(database.sql);
});
after(async () => {
  await stage?.supervisor.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Resolves when its end is noticed: a statement that is sent before can be lost with its connection. */
async function killDatabase(): Promise<void> {
  const [pid] = (await readFile(join(folder, "postgres/data/postmaster.pid"), "utf8")).split("\n");
  process.kill(Number(pid), "SIGKILL");
  await until(() => !existsSync(`/proc/${pid}`));
}

test("processes run and restart while the database is down, and are stored when it is back", async () => {
  const { supervisor, user, start, waitFor, inside, row } = stage;
  const uuid = await start();
  const { pid } = await inside(uuid);
  const states: string[] = [];
  const restarted = waitFor(uuid, (notice) => {
    if (notice.type === "state") states.push(notice.state);
    else if (notice.type === "restarting") states.push(notice.type);
    return states.length === 3;
  });
  await killDatabase();
  process.kill(pid, "SIGKILL");
  await restarted;
  assert.deepEqual(states, ["running", "restarting", "running"]);
  await supervisor.pause(user, uuid);
  const written = await row(uuid);
  assert.deepEqual([written?.state, written?.desired, written?.restarts], ["paused", "paused", 1]);
});

test("a stop during a database outage is stored afterwards", async () => {
  const { supervisor, user, start, waitFor, row } = stage;
  const uuid = await start();
  await waitFor(uuid, ({ type }) => type === "stats");
  const held = supervisor.held(uuid);
  await killDatabase();
  await supervisor.stop(user, uuid);
  assert.equal((await row(uuid))?.state, "finished");
  const used = async () => {
    const [row] = await database.sql<{ ms: number }[]>`select running_ms as ms from usage where process_uuid = ${uuid}`;
    return row?.ms;
  };
  assert.ok((held?.record.runningMs ?? 0) > 0);
  while ((await used()) !== held?.record.runningMs) await new Promise((resolve) => setTimeout(resolve, 20));
});
