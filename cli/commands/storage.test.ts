/** The commands over a real database, a real folder and a real S3 server. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { TestS3 } from "../../server/files/s3-server.fixture.ts";
import { S3Store } from "../../server/files/s3-store.ts";
import { createKey } from "../../server/keys/keys.ts";
import { KEY_ORDER } from "../../server/media/media-service.fixture.ts";
import { testDatabase } from "../../server/store/database.fixture.ts";
import { newUuid } from "../../server/uuid.ts";
import { CommandFailure, readArguments } from "../command.ts";
import { COMMANDS } from "../commands.ts";
import { Terminal } from "../terminal.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";

const s3 = await TestS3.start();
const bucket = S3Store.open(s3.settings);
const database = await testDatabase();
after(async () => {
  bucket.close();
  await database.close();
  await s3.close();
});
const { sql } = database;
const folder = makeFolder();
const withBucket = join(folder, "windhover.yaml");
const settings = { data_dir: join(folder, "data"), database: { url: database.url } };
writeFileSync(withBucket, JSON.stringify({ ...settings, storage: { s3: s3.settings } }));
const withoutBucket = join(folder, "folder.yaml");
writeFileSync(withoutBucket, JSON.stringify(settings));
mkdirSync(join(folder, "data"));

/** In this process, which is quicker: what it prints, or what it throws. */
async function storage(name: string, config: string, ...args: string[]): Promise<string> {
  const entry = COMMANDS.storage;
  assert.ok(entry !== undefined && "commands" in entry);
  const command = await entry.commands[name]?.load();
  assert.ok(command !== undefined);
  const output = new PassThrough().setEncoding("utf8");
  await command.run(readArguments(command, [...args, "--config", config]), new Terminal(output, new PassThrough(), {}));
  return output.read() ?? "";
}

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of bucket.list("")) found.push(key);
  return found;
}

test("check writes, reads, lists and deletes, and shows what it did", async () => {
  const { code, stdout, stderr } = await windhover(["storage", "check"], folder);
  assert.equal(code, 0, stderr);
  for (const step of ["write 20 MiB", "read 20 MiB", "read a range", "list", "delete"])
    assert.match(stdout, new RegExp(`^${step} +\\d+$`, "m"));
  assert.match(stdout, /^the bucket windhover-test at http:.* works$/m);
  assert.deepEqual(await keys(), []);
  const { storage: label, steps } = JSON.parse(await storage("check", withoutBucket, "--json"));
  assert.deepEqual([label, steps.length], [`the folder ${join(folder, "data")}`, 5]);
});

test("check fails with the reason: a bucket that does not exist, a service that does not answer", async () => {
  const other = join(folder, "other.yaml");
  writeFileSync(other, JSON.stringify({ ...settings, storage: { s3: { ...s3.settings, bucket: "missing" } } }));
  await assert.rejects(
    storage("check", other),
    (error) =>
      error instanceof CommandFailure && /write 20 MiB failed in the bucket missing.*NoSuchBucket/.test(error.message),
  );
  await s3.stop();
  await assert.rejects(storage("check", withBucket), /ECONNREFUSED/);
  await s3.startAgain();
});

test("migrate moves what the database knows, after a dry run and an interruption", async () => {
  const { row: user } = await createKey(sql, { ...KEY_ORDER, username: "ada" });
  const [source, recording, process] = [newUuid(), newUuid(), newUuid()];
  await sql`
    insert into sources (uuid, user_uuid, alias, type, input_url, identity, file_name, file_bytes)
    values (${source}, ${user.uuid}, 'a', 'file', ${sql.typed.sealed("a.mp4")}, ${sql.typed.sealed(source)}, ${`${source}.mp4`}, 5)`;
  await sql`
    insert into recordings (uuid, user_uuid, source_uuid, alias, node_uuid, stopped_at)
    values (${recording}, ${user.uuid}, ${source}, 'a', ${newUuid()}, now())`;
  await sql`
    insert into recording_segments (recording_uuid, index, started_at, duration_ms, size_bytes)
    values (${recording}, 3, now(), 1000, 5)`;
  await sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state)
    values (${process}, ${user.uuid}, ${source}, '', 'detect', '{}', false, 'stopped', 'finished')`;
  const names = [
    `videos/${source}.mp4`,
    `recordings/${recording}/3.mp4`,
    `process-recordings/${process}/7.mp4`,
    `detections/${process}/2.ndjson.gz`,
    ...[`videos/${newUuid()}.mp4`, `videos/partial/${newUuid()}.mp4`, `recordings/${newUuid()}/0.mp4`],
  ];
  const pathOf = (name: string) => join(folder, "data", name);
  for (const name of names) {
    mkdirSync(dirname(pathOf(name)), { recursive: true });
    writeFileSync(pathOf(name), "film!");
  }
  const moved = [
    ...[`detections/${process}/0-2.ndjson.gz`, `process-recordings/${process}/0-7.mp4`],
    ...[`recordings/${recording}/3.mp4`, `videos/${source}.mp4`],
  ];

  const dry = JSON.parse(await storage("migrate", withBucket, "--dry-run", "--json"));
  assert.deepEqual(dry.files.map(({ key }: { key: string }) => key).sort(), moved);
  assert.deepEqual([dry.bytes, dry.left.length, await keys()], [20, 2, []]);

  await s3.stop();
  await assert.rejects(storage("migrate", withBucket), /0 files were moved: run it again/);
  await s3.startAgain();
  await storage("migrate", withBucket, "--keep");
  assert.deepEqual([await keys(), names.every((name) => existsSync(pathOf(name)))], [moved, true]);
  const lines = (await storage("migrate", withBucket)).trim().split("\n");
  assert.equal(lines.length, 4);
  assert.deepEqual(
    names.map((name) => existsSync(pathOf(name))),
    [false, false, false, false, true, true, true],
  );
  assert.equal((await sql`select from files where stored_at is not null and size_bytes = 5`).count, 4);
  assert.equal(await storage("migrate", withBucket), "");
  await assert.rejects(storage("migrate", withoutBucket), /no bucket is configured/);
});
