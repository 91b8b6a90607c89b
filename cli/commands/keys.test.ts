import assert from "node:assert/strict";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { loadConfig } from "../../server/config/load.ts";
import { Authenticator, findKeyIn, LoginGate } from "../../server/keys/authenticate.ts";
import { silentLog, testDatabase } from "../../server/store/database.fixture.ts";
import { openDatabase } from "../../server/store/database.ts";
import { CommandFailure, readArguments, UsageFault } from "../command.ts";
import { COMMANDS } from "../commands.ts";
import { readExpiry } from "../keys.ts";
import { Terminal } from "../terminal.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";

const database = await testDatabase();
after(() => database.close());
const folder = makeFolder();
writeFileSync(join(folder, "windhover.yaml"), `database:\n  url: ${JSON.stringify(database.url)}\n`);

/** As a command of its own. */
const spawnKeys = (...args: string[]) => windhover(["keys", ...args], folder);

/** The same in this process, which is quicker: what it prints, or what it throws. */
async function keys(name: string, ...args: string[]): Promise<string> {
  const entry = COMMANDS.keys;
  assert.ok(entry !== undefined && "commands" in entry);
  const command = await entry.commands[name]?.load();
  assert.ok(command !== undefined);
  const output = new PassThrough().setEncoding("utf8");
  const given = readArguments(command, [...args, "--config", join(folder, "windhover.yaml")]);
  await command.run(given, new Terminal(output, new PassThrough(), {}));
  return output.read() ?? "";
}

const { config } = loadConfig({ file: null, folder, env: {} });
const { authenticate } = new Authenticator(findKeyIn(database.sql, config), new LoginGate(100));

test("a key is made, works, is listed without its secret, and is revoked", async () => {
  const made = await spawnKeys("create", "acme", "--pending", "100", "--minutes", "5", "--graph-author");
  assert.equal(made.code, 0, made.stderr);
  const [key = ""] = made.lines;
  assert.match(key, /^wh_[a-z0-9]{10}_[A-Za-z0-9_-]{43}$/);
  assert.equal(made.stdout, `${key}\n`);
  const user = await authenticate(key, "192.0.2.1");
  assert.equal(user.username, "acme");
  assert.equal(user.isGraphAuthor, true);
  assert.equal(user.hasRecording, false);
  assert.equal(user.isOperator, false);

  const child = await keys(
    ...["create", "acme-north", "--master", "acme", "--minutes", "5", "--expires", "2099-12-31"],
    ...["--limit", "processes=8", "--limit", "requests_per_minute=60", "--track-logger", "--json"],
  );
  const created = JSON.parse(child);
  assert.equal(created.master, "acme");
  assert.deepEqual(created.limits, { processes: 8, requests_per_minute: 60 });
  const northern = await authenticate(created.key, "192.0.2.1");
  assert.equal(northern.limits.processes, 8);
  assert.equal(northern.limits.sources, config.limits.sources);
  assert.equal(northern.masterUuid, user.uuid);

  const handed = await keys("allocate", "acme", "acme-north", "50");
  assert.equal(handed, "acme-north  +50 minutes  55 left\n");
  const more = await keys("allocate", "acme", "25", "--json");
  assert.equal(JSON.parse(more).pending_to_allocate, 75);
  const tooMany = await spawnKeys("allocate", "acme", "acme-north", "76");
  assert.equal(tooMany.code, 1);
  assert.match(tooMany.stderr, /76 minutes requested, but only 75 are left/);

  const list = await keys("list");
  assert.match(list, /^acme +[a-z0-9]{10} +valid +standard +5 +0 +75 +never +graph-author$/m);
  assert.match(list, /^ {2}acme-north .* 55 +0 +- +2099-12-31 +track-logger$/m);
  assert.ok(!list.includes(key.slice(15)));

  assert.match(await keys("revoke", "acme-north"), /revoked$/m);
  const states = JSON.parse(await keys("list", "--json")).map((row: { state: string }) => row.state);
  assert.deepEqual(states, ["valid", "revoked"]);
  await assert.rejects(keys("revoke", created.key), /acme-north was already revoked/);
});

test("an account has several keys, which are added, listed, rotated and revoked one by one", async () => {
  const first = JSON.parse(await keys("create", "fleet", "--json"));
  const added = JSON.parse(
    await keys(
      "add",
      "fleet",
      "--name",
      "drone 7",
      "--scope",
      "publish",
      "--scope",
      "read",
      "--expires",
      "2099-12-31",
      "--json",
    ),
  );
  assert.deepEqual([added.scopes, added.name, added.source_uuids], [["publish", "read"], "drone 7", null]);
  const user = await authenticate(added.key, "192.0.2.1");
  assert.deepEqual([user.username, user.key.scopes], ["fleet", ["publish", "read"]]);
  const [next = ""] = (await keys("rotate", added.key_id, "--overlap", "0")).split("\n");
  assert.equal((await authenticate(next, "192.0.2.1")).key.name, "drone 7");
  const fresh = new Authenticator(findKeyIn(database.sql, config), new LoginGate(100));
  await assert.rejects(fresh.authenticate(added.key, "192.0.2.1"), { code: "api_key_expired" });
  const list = await keys("list", "fleet");
  assert.match(list, /^[a-z0-9]{10} +drone 7 +publish,read +all +expired +20\S+ \S+ +20\S+ \S+ +20/m);
  assert.match(list, new RegExp(`^${first.key_id} +first +admin +all +valid +20\\S+ \\S+ +never +never$`, "m"));
  assert.match(await keys("revoke", `wh_${first.key_id}`), /^fleet +[a-z0-9]{10} +revoked$/m);
  const states = JSON.parse(await keys("list", "fleet", "--json")).map((key: { state: string }) => key.state);
  assert.deepEqual(states, ["valid", "expired", "revoked"]);
  assert.match(await keys("list"), /^fleet .* valid /m);
});

test("limits, features and expiry of an account are changed, and a revoked name is used again", async () => {
  const { key } = JSON.parse(await keys("create", "edited", "--limit", "processes=2", "--json"));
  const changes = [
    "--limit",
    "sources=7",
    "--limit",
    "processes=default",
    "--allow",
    "recording",
    "--expires",
    "2099-12-31",
  ];
  const edited = JSON.parse(await keys("edit", "edited", ...changes, "--json"));
  assert.deepEqual([edited.limits, edited.recording, edited.expiration_date], [{ sources: 7 }, true, "2099-12-31"]);
  assert.equal((await authenticate(key, "192.0.2.1")).limits.sources, 7);
  const back = JSON.parse(await keys("edit", "edited", "--forbid", "recording", "--expires", "never", "--json"));
  assert.deepEqual([back.limits, back.recording, back.expiration_date], [{ sources: 7 }, false, "9999-12-31"]);
  await keys("revoke", "edited");
  const again = JSON.parse(await keys("create", "edited", "--json"));
  assert.equal((await authenticate(again.key, "192.0.2.1")).username, "edited");
  assert.match(await keys("list"), /^edited-revoked-[0-9a-f]{8} .* revoked /m);
});

for (const [words, code, says] of [
  ["create", 2, /missing: a NAME/],
  ["create Acme", 2, /"Acme" is not a valid NAME/],
  ["create ../x", 2, /is not a valid NAME/],
  ["create acme", 1, /an account named acme exists already/],
  ["create x --master unknown", 1, /there is no key named unknown/],
  ["create x --master acme-north", 1, /acme-north is not a master key/],
  ["create x --master acme --pending 5", 2, /--pending is for master keys/],
  ["create x --minutes 1.5", 2, /--minutes is "1.5"/],
  ["create x --expires 2026-02-31", 2, /--expires is "2026-02-31"/],
  ["create x --expires 2020-01-01", 2, /which is in the past; expected a future date or time/],
  ["create x --expires tomorrow", 2, /expected a date such as/],
  ["create x --limit proceses=3", 2, /did you mean "processes"\?/],
  ["create x --limit processes=-3", 2, /expected a whole number/],
  ["add acme", 2, /missing: --scope/],
  ["add acme --scope reed", 2, /--scope is "reed"; expected .*did you mean "read"\?/],
  ["add acme --scope read --source 7", 2, /expected the uuid of a source/],
  ["add acme --scope read --source 01890000-0000-7000-8000-000000000000", 1, /01890000-0000-7000/],
  ["add unknown --scope read", 1, /there is no account named unknown/],
  ["rotate nokey", 1, /no key with the name or id "nokey"/],
  ["rotate nokey --overlap -1", 2, /--overlap is "-1"/],
  ["edit acme --allow flying", 2, /--allow is "flying"/],
  ["list unknown", 1, /there is no account named unknown/],
  ["revoke acmee", 1, /no key with the name or id "acmee"; did you mean "acme"\?/],
  ["allocate acme acme 1.5", 2, /MINUTES is "1\.5"/],
  ["allocate unknown acme 5", 1, /there is no key named unknown/],
  ["allocate acme unknown 5", 1, /named unknown/],
  ["list --confg x", 2, /did you mean "--config"\?/],
] as const)
  test(`keys ${words} is rejected with an explanation`, async () => {
    const [name = "", ...args] = words.split(" ");
    await assert.rejects(keys(name, ...args), (error) => {
      assert.ok(error instanceof (code === 2 ? UsageFault : CommandFailure), String(error));
      assert.match(error.message, says);
      return true;
    });
  });

test("shows a key without limits as unlimited, in JSON as the API does", async () => {
  const { remaining_minutes, expiration_date } = JSON.parse(await keys("create", "free", "--json"));
  assert.deepEqual({ remaining_minutes, expiration_date }, { remaining_minutes: 1e9, expiration_date: "9999-12-31" });
  assert.match(await keys("list"), /^free .* unlimited +0 +- +never$/m);
  await assert.rejects(keys("allocate", "free", "free", "5"), /free has unlimited minutes/);
});

test("a key of who runs the service is made when it is asked for", async () => {
  const { key, operator } = JSON.parse(await keys("create", "prometheus", "--operator", "--minutes", "0", "--json"));
  assert.equal(operator, true);
  assert.equal((await authenticate(key, "192.0.2.1")).isOperator, true);
  assert.match(await keys("list"), /^prometheus .* operator$/m);
});

test("creates no database when it lists keys", async () => {
  const empty = makeFolder();
  const outcome = await windhover(["keys", "list"], empty);
  assert.equal(outcome.code, 1);
  assert.match(outcome.stderr, /there is no database in/);
  assert.ok(!existsSync(join(empty, "data")));
});

test("commands work without a server, and beside one, on the private database", async () => {
  const place = makeFolder();
  chmodSync(place, 0o755);
  const alone = await windhover(["keys", "create", "first"], place);
  assert.equal(alone.code, 0, alone.stderr);
  const own = loadConfig({ file: null, folder: place, env: {} }).config;
  const server = await openDatabase(own, silentLog);
  try {
    const beside = await windhover(["keys", "create", "second"], place);
    assert.equal(beside.code, 0, beside.stderr);
    const rows = await server.sql`select username from users order by username`;
    assert.deepEqual(
      rows.map(({ username }) => username),
      ["first", "second"],
    );
  } finally {
    await server.close();
  }
});

test("a date means the whole of that day", () => {
  assert.equal(readExpiry("2027-12-31")?.toISOString(), "2027-12-31T23:59:59.999Z");
  assert.equal(readExpiry("2027-12-31T18:00+02:00")?.toISOString(), "2027-12-31T16:00:00.000Z");
  assert.equal(readExpiry(undefined), null);
});
