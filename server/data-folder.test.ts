import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makePrivateFolder, prepareDataFolder } from "./data-folder.ts";
import { silentLog } from "./store/database.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-data-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
/** The private PostgreSQL of a service that root starts runs as another user, who passes through. */
const CLOSED = process.getuid?.() === 0 ? "711" : "700";

test("a new data folder is closed to others, and so is everything created afterwards", async () => {
  const data = join(folder, "new/data");
  await prepareDataFolder(data, silentLog);
  assert.equal(modeOf(data), CLOSED);
  writeFileSync(join(data, "file"), "");
  mkdirSync(join(data, "folder"));
  assert.deepEqual([modeOf(join(data, "file")), modeOf(join(data, "folder"))], ["600", "700"]);
});

test("folders that an earlier version left open are closed", async () => {
  process.umask(0o022);
  const data = join(folder, "old");
  mkdirSync(join(data, "recordings"), { recursive: true });
  assert.deepEqual([modeOf(data), modeOf(join(data, "recordings"))], ["755", "755"]);
  await prepareDataFolder(data, silentLog);
  await makePrivateFolder(join(data, "recordings"));
  assert.deepEqual([modeOf(data), modeOf(join(data, "recordings"))], [CLOSED, "700"]);
});
