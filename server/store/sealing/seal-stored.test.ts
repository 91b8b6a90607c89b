/** Secrets in the real database: of an older version, of an older key, without the key. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { newUuid } from "../../uuid.ts";
import { connectClient, DatabaseFault, type Sql } from "../client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "../database.fixture.ts";
import { openDatabase, readDatabaseUrl } from "../database.ts";
import { migrate, readMigrations } from "../migrate.ts";
import { readSigningKey } from "../nodes.ts";
import { findSource } from "../sources.ts";
import { CLOSED } from "./keyring.ts";
import { SEALED_COLUMNS } from "./seal-stored.ts";

const postgres = await testPostgres();
const admin = connectClient(readDatabaseUrl(postgres.url), DATABASE_LIMITS, silentLog, CLOSED);
const folder = mkdtempSync(join(tmpdir(), "windhover-seal-"));
after(async () => {
  await admin.end();
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
});

let databases = 0;
/** A new, empty one. */
async function makeUrl(): Promise<string> {
  databases += 1;
  await admin.unsafe(`create database test_${databases}`);
  return postgres.url.replace(/\/\/\/\w+/, `///test_${databases}`);
}
const connect = (url: string): Sql => connectClient(readDatabaseUrl(url), DATABASE_LIMITS, silentLog, CLOSED);
const configure = (url: string, secrets: { key?: string; key_file?: string } = {}) => ({
  data_dir: folder,
  database: { ...DATABASE_LIMITS, url },
  secrets: { key: null, key_file: null, ...secrets },
});
/** All contents, as seen with access to the database only. */
const dump = (url: string): string => {
  const { host, port, user } = readDatabaseUrl(url);
  const database = /\/\/\/(\w+)/.exec(url)?.[1] ?? "";
  return execFileSync("pg_dump", ["--host", host, "--port", String(port), "--username", user, database], {
    encoding: "utf8",
  });
};
const isFault = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DatabaseFault, String(error));
  assert.match(error.message, words);
  return true;
};

const USER = newUuid();
const SOURCE = newUuid();
const TELEMETRY = { type: "mqtt", format: "native", parameters: { ip: "192.0.2.1", port: 1883, password: "hunter1" } };

/** As a version before sealing left it. */
async function fillOld(url: string): Promise<void> {
  const sql = connect(url);
  const old = (await readMigrations()).filter(({ name }) => name < "013");
  await migrate(sql, { migrations: old });
  const [process, output, alert] = [newUuid(), newUuid(), newUuid()];
  const stored = [{ uuid: newUuid(), type: "webhook", config: { url: "http://a", secret: "whsec_hunter2" } }];
  await sql`
    insert into users (uuid, username, product, key_id, key_sha256, has_track_logger, has_recording, has_enhancement, is_graph_author)
    values (${USER}, 'ada', 'windhover', 'id', ${Buffer.alloc(32)}, false, false, false, false)`;
  await sql`
    insert into sources (uuid, user_uuid, alias, type, stream_type, input_url, telemetry_cfg, identity)
    values (${SOURCE}, ${USER}, 'cam', 'stream', 'rtsp', 'rtsp://ada:hunter3@"cam"\\é/', ${sql.json(TELEMETRY)}, ${Buffer.alloc(32, 7)})`;
  await sql`
    insert into outputs (uuid, user_uuid, alias, type, url, identity)
    values (${output}, ${USER}, 'out', 'rtmp', 'rtmp://there/live/hunter4', ${Buffer.alloc(32, 8)}),
      (${newUuid()}, ${USER}, 'own', 'rtsp', 'rtsp://yard', ${Buffer.alloc(32, 9)}),
      (${newUuid()}, ${USER}, 'data', 'detection_data', null, ${Buffer.alloc(32, 10)})`;
  await sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state, telemetry_cfg)
    values (${process}, ${USER}, ${SOURCE}, 'rtsp://cam/', 'detect', '{}', false, 'running', 'running', ${sql.json(TELEMETRY)})`;
  await sql`
    insert into alerts (uuid, user_uuid, alias, type, output, status, configuration, weight)
    values (${alert}, ${USER}, 'a', 'line', ${sql.json(stored)}, 'active', '{}', 0)`;
  await sql`
    insert into process_alerts (process_uuid, alert_uuid, configuration, output)
    values (${process}, ${alert}, '{}', ${sql.json(stored)})`;
  await sql`
    insert into subscriptions (uuid, user_uuid, process_uuid, event_type, notification_url, auth_url, policy, format, secret)
    values (${newUuid()}, ${USER}, ${process}, 'new-tracks', 'http://b:hunter5@c/', 'http://d:hunter6@e/', '{}', 'full', 'whsec_hunter7')`;
  await sql`
    insert into destinations (uuid, user_uuid, kind, target)
    values (${newUuid()}, ${USER}, 'webhook', ${sql.json({ kind: "webhook", url: "http://f", secret: "hunter8", spacingMs: 500 })})`;
  await sql`insert into signing_keys (secret) values (${Buffer.from("hunter9-hunter9-hunter9-hunter9-")})`;
  await sql.end();
}

test("the sealed columns are those of type varchar", async () => {
  const rows = await admin<{ name: string }[]>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and udt_name = 'varchar'`;
  const sealed = Object.entries(SEALED_COLUMNS).flatMap(([table, columns]) => columns.map((one) => `${table}.${one}`));
  assert.deepEqual(rows.map(({ name }) => name).sort(), sealed.sort());
});

test("the first start seals secrets of an older version, and a dump contains none", async () => {
  const url = await makeUrl();
  await fillOld(url);
  const signing = Buffer.from("hunter9-hunter9-hunter9-hunter9-");
  assert.deepEqual(new Set(dump(url).match(/hunter\d/g)).size, 8);
  const database = await openDatabase(configure(url), silentLog);
  const { inputUrl, telemetryCfg } = await findSource(database.sql, USER, SOURCE);
  assert.deepEqual([inputUrl, telemetryCfg], ['rtsp://ada:hunter3@"cam"\\é/', TELEMETRY]);
  assert.deepEqual(await readSigningKey(database.sql), signing);
  const outputs = await database.sql<
    { hubPath: string; url: string }[]
  >`select hub_path, url from outputs order by alias`;
  assert.deepEqual(
    outputs.map(({ hubPath, url }) => [hubPath, url]),
    [
      [null, null],
      [null, "rtmp://there/live/hunter4"],
      ["ada/yard", "rtsp://yard"],
    ],
  );
  const [spacing] = await database.sql`select spacing_ms from destinations`;
  assert.equal(spacing?.spacingMs, 500);
  await database.close();
  const text = dump(url);
  assert.doesNotMatch(text, /hunter/);
  for (const secret of [signing, Buffer.alloc(32, 7), Buffer.alloc(32, 8)])
    for (const coding of ["hex", "base64"] as const) assert.ok(!text.includes(secret.toString(coding)), coding);
});

test("the first start creates a key that only this user can read; without it the next start fails and changes nothing", async () => {
  const url = await makeUrl();
  const file = join(folder, "secrets.key");
  rmSync(file, { force: true });
  const first = await openDatabase(configure(url), silentLog);
  const key = await readSigningKey(first.sql);
  await first.close();
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const kept = readFileSync(file, "utf8");
  const before = dump(url);
  rmSync(file);
  await assert.rejects(
    openDatabase(configure(url), silentLog),
    isFault(/sealed with the key [0-9a-f]{12}\. There is no key in .*secrets\.key\. Provide that key/),
  );
  assert.throws(() => statSync(file), /ENOENT/, "no other key takes its place");
  await assert.rejects(
    openDatabase(configure(url, { key: "ab".repeat(32) }), silentLog),
    isFault(/sealed with the key [0-9a-f]{12}\. secrets\.key has the key [0-9a-f]{12} instead/),
  );
  // pg_dump marks each dump with a word of its own.
  const compare = (text: string) => text.replaceAll(/^\\(un)?restrict .*$/gm, "");
  assert.equal(compare(dump(url)), compare(before));
  writeFileSync(file, kept);
  const again = await openDatabase(configure(url), silentLog);
  assert.deepEqual(await readSigningKey(again.sql), key);
  await again.close();
});

test("with a new key in front all secrets are sealed again, and the old key is no longer needed", async () => {
  const url = await makeUrl();
  await fillOld(url);
  const [old, fresh] = ["ab".repeat(32), "cd".repeat(32)];
  const open = (key: string) => openDatabase(configure(url, { key }), silentLog);
  await (await open(old)).close();
  await (await open(`${fresh},${old}`)).close();
  await assert.rejects(open(old), isFault(/instead/));
  const database = await open(fresh);
  assert.deepEqual((await findSource(database.sql, USER, SOURCE)).telemetryCfg, TELEMETRY);
  await database.close();
});

test("after a key was lost the documented statements make the database usable with another", async () => {
  const url = await makeUrl();
  await fillOld(url);
  const open = (key: string) => openDatabase(configure(url, { key }), silentLog);
  await (await open("ab".repeat(32))).close();
  const page = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const [, statements = ""] = /```sql\n(delete from processes[^`]+)```/.exec(page) ?? [];
  const sql = connect(url);
  await sql.unsafe(statements);
  await sql.end();
  const database = await open("cd".repeat(32));
  assert.equal((await readSigningKey(database.sql)).length, 32);
  assert.equal((await database.sql`select from users`).length, 1);
  await database.close();
});

for (const [name, text, words] of [
  ["no key", "hello\n", /contains no valid keys; expected 64 hexadecimal digits/],
  ["nothing", null, /cannot be read from .*: ENOENT/],
] as const)
  test(`reports a key file with ${name} at the start`, async () => {
    const file = join(folder, "named.key");
    rmSync(file, { force: true });
    if (text !== null) writeFileSync(file, text);
    await assert.rejects(openDatabase(configure(postgres.url, { key_file: file }), silentLog), isFault(words));
  });
