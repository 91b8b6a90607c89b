import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Type } from "typebox";
import { type Client, insertProcess, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";
import { connectClient, type Sql } from "../store/client.ts";
import { DATABASE_LIMITS, silentLog } from "../store/database.fixture.ts";
import { readDatabaseUrl } from "../store/database.ts";
import { testKeyring } from "../store/sealing/test-key.fixture.ts";
import { define, makeUser, openApp } from "./app.fixture.ts";
import { KeptAnswers } from "./kept-answers.ts";

const answerOf = (body: string) => ({ status: 200, headers: {}, body });

test("keeps an answer until its version changes", () => {
  const kept = new KeptAnswers();
  assert.equal(kept.find("a", "1"), null);
  kept.keep("a", "1", answerOf("first"));
  assert.equal(String(kept.find("a", "1")?.body), "first");
  assert.equal(kept.find("a", "2"), null);
  assert.equal(kept.find("b", "1"), null);
  kept.keep("a", "2", answerOf("second"));
  assert.equal(String(kept.find("a", "2")?.body), "second");
  assert.equal(kept.find("a", "1"), null);
  assert.equal(kept.size, 1);
});

test("drops the least recently used answers beyond its limits, and does not keep huge ones", () => {
  const kept = new KeptAnswers();
  for (let i = 0; i < 3000; i++) {
    kept.keep(`small ${i}`, "1", answerOf("x"));
    kept.find("small 0", "1");
  }
  assert.ok(kept.size <= 1000);
  assert.ok(kept.find("small 0", "1") !== null && kept.find("small 2999", "1") !== null);
  assert.equal(kept.find("small 1", "1"), null);
  const large = "x".repeat(1_000_000);
  for (let i = 0; i < 100; i++) kept.keep(`large ${i}`, "1", answerOf(large));
  assert.ok(kept.bytes <= 2 ** 24 && kept.bytes > 15_000_000, `${kept.bytes} bytes`);
  assert.equal(String(kept.keep("huge", "1", answerOf(large + large)).body).length, 2_000_000);
  assert.equal(kept.find("huge", "1"), null);
  for (let i = 0; i < 100; i++) kept.keep(`large ${i}`, "2", answerOf(""));
  for (let i = 0; i < 1000; i++) kept.keep(`other ${i}`, "2", answerOf(""));
  assert.ok(kept.bytes < 50_000, "what was replaced is not counted");
});

test("calls an endpoint once per version, user, query, parameter, host and encoding", async () => {
  let version = "1";
  let calls = 0;
  const users = new Map(["ada", "bob"].map((name) => [name, makeUser(name)]));
  const app = await openApp(
    [
      define("GET", "/things/{thing_uuid}", "listThings", {
        summary: "Lists.",
        query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
        answers: { 200: { description: "Them.", schema: Type.Object({}) } },
        version: async () => version,
        handle: ({ user }) => ({ status: 200, body: { call: ++calls, of: user.username, padding: "x".repeat(2000) } }),
      }),
    ],
    { authenticate: async (key) => users.get(key ?? "") ?? makeUser("nobody") },
  );
  const [thing, other] = ["6b2f4c1e-3a57-4d2b-8f15-5d0f3a1c9e70", "00000000-0000-4000-8000-000000000000"];
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const response = await app.call(path, { headers: { api_key: "ada", "accept-encoding": "identity", ...headers } });
    assert.equal(response.status, 200);
    assert.ok(response.headers.get("x-request-id"));
    return ((await response.json()) as { call: number }).call;
  };
  try {
    assert.equal(await read(`/things/${thing}`), 1);
    assert.equal(await read(`/things/${thing}`), 1);
    assert.equal(await read(`/things/${thing}?limit=1`), 2);
    assert.equal(await read(`/things/${other}`), 3);
    assert.equal(await read(`/things/${thing}`, { api_key: "bob" }), 4);
    assert.equal(await read(`/things/${thing}`, { "accept-encoding": "gzip" }), 5);
    assert.equal(await read(`/things/${thing}`, { "accept-encoding": "gzip" }), 5);
    const raw = await app.sendRaw(
      `GET /things/${thing} HTTP/1.1\r\nHost: other.example\r\napi_key: ada\r\nConnection: close\r\n\r\n`,
    );
    assert.match(raw, /"call":6/);
    const head = await app.call(`/things/${thing}`, { method: "HEAD", headers: { api_key: "ada" } });
    assert.equal(head.status, 200);
    assert.equal(await read(`/things/${thing}`), 1);
    version = "2";
    assert.equal(await read(`/things/${thing}`), calls);
    assert.ok(calls > 6);
  } finally {
    await app.close(0);
  }
});

test("headers that are added to one answer are not added to the kept one", async () => {
  const things = define("GET", "/things", "listThings", {
    summary: "Lists.",
    access: "none",
    answers: { 200: { description: "Them.", schema: Type.Object({}) } },
    version: async () => "1",
    handle: () => ({ status: 200, body: { padding: "x".repeat(2000) } }),
  });
  const app = await openApp([things], { settings: { HTTP_CORS_ORIGINS: "https://a.example,https://b.example" } });
  const headersFor = async (origin: string) => {
    const response = await app.call("/things", { headers: { origin } });
    await response.text();
    return ["vary", "access-control-allow-origin"].map((name) => response.headers.get(name));
  };
  try {
    const vary = "Accept-Encoding, Origin";
    assert.deepEqual(await headersFor("https://a.example"), [vary, "https://a.example"]);
    assert.deepEqual(await headersFor("https://b.example"), [vary, "https://b.example"]);
    assert.deepEqual(await headersFor("https://c.example"), [vary, null]);
  } finally {
    await app.close(0);
  }
});

let service: SourcesService;
let other: Sql;
before(async () => {
  service = await openSourcesService();
  other = connectClient(readDatabaseUrl(service.databaseUrl), DATABASE_LIMITS, silentLog, testKeyring);
});
after(async () => {
  await other?.end({ timeout: 0 });
  await service?.close();
});

const own = ({ user }: Client, path: string) => `rtsp://localhost:8554/${user.username}/${path}`;

async function register(client: Client, alias: string) {
  const body = { alias, input_url: own(client, alias), stream_type: "rtsp" };
  const reply = await client.call("POST", "/stream", body);
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return reply.body as { uuid: string };
}

type Listed = { uuid: string; alias: string; status: string; hls_url: string };

async function list(client: Client, query = ""): Promise<readonly Listed[]> {
  const { status, body } = await client.call("GET", `/sources${query}`);
  assert.equal(status, 200);
  return body.sources;
}

const aliases = async (client: Client) => (await list(client)).map(({ alias }) => alias);

test("a listing is kept: it is not read again while nothing in it has changed", async () => {
  const ada = await service.addUser();
  const { uuid } = await register(ada, "yard");
  assert.deepEqual(await aliases(ada), ["yard"]);
  // A change that no trigger sees.
  await service.sql.begin(async (sql) => {
    await sql`alter table sources disable trigger sources_version`;
    await sql`update sources set alias = 'unseen' where uuid = ${uuid}`;
    await sql`alter table sources enable trigger sources_version`;
  });
  assert.deepEqual(await aliases(ada), ["yard"]);
  const plain = await service.app.call("/sources", {
    headers: { api_key: ada.user.username, "accept-encoding": "identity" },
  });
  assert.match(await plain.text(), /unseen/, "another encoding was not kept yet");
});

test("shows every change by this server at once: new, changed and deleted sources, and pages", async () => {
  const ada = await service.addUser();
  assert.deepEqual(await aliases(ada), []);
  const { uuid } = await register(ada, "a");
  assert.deepEqual(await aliases(ada), ["a"]);
  await register(ada, "b");
  assert.deepEqual(await aliases(ada), ["b", "a"]);
  assert.equal((await list(ada, "?limit=1")).length, 1);
  await ada.call("PATCH", `/source/${uuid}`, { alias: "renamed" });
  assert.deepEqual(await aliases(ada), ["b", "renamed"]);
  await register(ada, "c");
  assert.deepEqual(
    (await list(ada, "?limit=1")).map(({ alias }) => alias),
    ["c"],
  );
  await ada.call("DELETE", `/source/${uuid}`);
  assert.deepEqual(await aliases(ada), ["c", "b"]);
});

test("a client sees each of its own changes in its next listing, whatever others list meanwhile", async () => {
  const ada = await service.addUser();
  let isOver = false;
  const reading = Array.from({ length: 2 }, async () => {
    while (!isOver) await list(ada);
  });
  try {
    for (let i = 0; i < 8; i++) {
      const { uuid } = await register(ada, `source-${i}`);
      assert.ok(
        (await list(ada)).some((source) => source.uuid === uuid),
        `source ${i} is missing`,
      );
      await ada.call("PATCH", `/source/${uuid}`, { alias: `changed-${i}` });
      assert.ok((await aliases(ada)).includes(`changed-${i}`));
      if (i % 2 === 0) continue;
      await ada.call("DELETE", `/source/${uuid}`);
      assert.ok(!(await list(ada)).some((source) => source.uuid === uuid), `source ${i} is still listed`);
    }
  } finally {
    isOver = true;
    await Promise.all(reading);
  }
});

test("shows changes by another connection to the same database, once they are committed", async () => {
  const ada = await service.addUser();
  const { uuid } = await register(ada, "theirs");
  assert.deepEqual(await aliases(ada), ["theirs"]);
  await other`update sources set alias = 'elsewhere' where uuid = ${uuid}`;
  assert.deepEqual(await aliases(ada), ["elsewhere"]);
  await other.begin(async (sql) => {
    await sql`update sources set alias = 'rolled back' where uuid = ${uuid}`;
    assert.deepEqual(await aliases(ada), ["elsewhere"], "not committed yet");
    await sql`update sources set alias = 'committed' where uuid = ${uuid}`;
  });
  assert.deepEqual(await aliases(ada), ["committed"]);
  await other`delete from sources where uuid = ${uuid}`;
  assert.deepEqual(await aliases(ada), []);
});

test("a status follows processes of any node and live streams of this one", async () => {
  const ada = await service.addUser();
  const { uuid } = await register(ada, "followed");
  const statusOf = async () => (await list(ada)).find((source) => source.uuid === uuid)?.status;
  assert.equal(await statusOf(), "offline");
  service.media.live.add(`${ada.user.username}/followed`);
  assert.equal(await statusOf(), "streaming");
  const process = await insertProcess(other, ada.user.uuid, uuid, "starting");
  assert.equal(await statusOf(), "processing");
  await other`update processes set state = 'running', position_ns = 7 where uuid = ${process}`;
  assert.equal(await statusOf(), "processing");
  await other`update processes set state = 'failed' where uuid = ${process}`;
  assert.equal(await statusOf(), "streaming");
  await insertProcess(other, ada.user.uuid, uuid, "running");
  assert.equal(await statusOf(), "processing");
  await other`delete from processes where source_uuid = ${uuid}`;
  assert.equal(await statusOf(), "streaming");
  service.media.live.clear();
  assert.equal(await statusOf(), "offline");
});

test("a listing never shows sources of another user, and changes of one user leave those of others kept", async () => {
  const [ada, bob] = [await service.addUser(), await service.addUser()];
  await register(ada, "hers");
  await register(bob, "his");
  const versionOf = ({ user }: Client) => service.sources.version(user);
  for (let i = 0; i < 3; i++) assert.deepEqual([await aliases(ada), await aliases(bob)], [["hers"], ["his"]]);
  const before = await versionOf(ada);
  await register(bob, "his-too");
  assert.equal(await versionOf(ada), before);
  assert.deepEqual([await aliases(ada), await aliases(bob)], [["hers"], ["his-too", "his"]]);
});

test("progress of a process changes no version, and a deleted user leaves none", async () => {
  const ada = await service.addUser();
  const { uuid } = await register(ada, "moving");
  const process = await insertProcess(service.sql, ada.user.uuid, uuid, "running");
  const before = await service.sources.version(ada.user);
  await service.sql`update processes set position_ns = 5, state = 'paused', restarts = 1 where uuid = ${process}`;
  assert.equal(await service.sources.version(ada.user), before);
  await service.sql`delete from users where uuid = ${ada.user.uuid}`;
  assert.equal((await service.sql`select from owner_versions where user_uuid = ${ada.user.uuid}`).length, 0);
});

test("a kept listing is sent with the same headers as a new one, compressed or not", async () => {
  const ada = await service.addUser();
  for (const alias of ["a", "b", "c", "d", "e"]) await register(ada, alias);
  for (const encoding of ["identity", "gzip"]) {
    const read = async () => {
      const response = await service.app.call("/sources", {
        headers: { api_key: ada.user.username, "accept-encoding": encoding, "x-request-id": "same" },
      });
      const headers = [...response.headers].filter(([name]) => name !== "date");
      return { headers, body: await response.json() };
    };
    const [first, second] = [await read(), await read()];
    assert.deepEqual(second, first);
    assert.equal(first.headers.find(([name]) => name === "vary")?.[1], "Accept-Encoding");
  }
});
