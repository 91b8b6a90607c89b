/** Two nodes on one database, each with the streams that its hub would report. */
import assert from "node:assert/strict";
import { after, before, beforeEach, type TestContext, test } from "node:test";
import type { AuthorizeRequest, StreamInfo } from "../../schemas/hub.ts";
import { poll } from "../../test/watch.fixture.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { ClusterNode } from "../cluster/node.ts";
import { ClusterKey, SIGNATURE_SECONDS } from "../cluster/signature.ts";
import { Authenticator, findKeyIn } from "../keys/authenticate.ts";
import { createKey } from "../keys/keys.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { Authorizer, RunTokens, WrongKeys } from "./authorization.ts";
import { ClusterStreams } from "./cluster-streams.ts";
import { addSource, KEY_ORDER } from "./media-service.fixture.ts";

let database: TestDatabase;
let sql: Sql;
let ada: string;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
  ada = (await createKey(sql, { ...KEY_ORDER, username: "ada" })).key;
  for (const path of ["ada/yard", "ada/gate"]) await addSource(sql, "ada", path);
});
beforeEach(async () => void (await sql`delete from streams`));
after(() => database?.close());

const SECRET = Buffer.alloc(32, 7);
const infoOf = (path: string): StreamInfo => ({
  ...{ path, protocol: "rtmp", codec: "h264", width: 640, height: 360, hasAudio: true },
});

/** `live`: what its hub publishes. */
async function open(t: TestContext, { isSwept = false, maxPublished = 5, now = Date.now } = {}) {
  const node = await ClusterNode.join(
    { sql, log: silentLog, isAlone: false, limits: { freshMs: 0 } },
    { url: "http://10.0.0.1:8080", rtspUrl: "rtsp://10.0.0.1:8554" },
  );
  const expelled: string[] = [];
  const streams = new ClusterStreams({
    ...{ sql, node, log: silentLog, key: new ClusterKey(SECRET, now), sweepMs: isSwept ? 20 : 3_600_000 },
    expel(path, reason) {
      expelled.push(`${path}: ${reason}`);
      streams.remove(path);
    },
  });
  t.after(async () => {
    await streams.close();
    await node.leave();
  });
  const tokens = new RunTokens();
  const wrongKeys = new WrongKeys(100);
  const authorizer = new Authorizer({
    ...{ sql, tokens, wrongKeys, maxPublished, log: silentLog, livePaths: () => [], elsewhere: streams },
    keys: new Authenticator(findKeyIn(sql, makeConfig()), wrongKeys),
    sleep: async () => {},
    nameRecording: () => null,
    onKeyUsed: () => {},
  });
  const ask = async (given: Partial<AuthorizeRequest>) => {
    const { refusal, isOwn, isRelay } = await authorizer.authorize({
      ...{ type: "authorize", id: 1, action: "publish", protocol: "rtmp", path: "ada/yard", secret: ada },
      ...{ address: "192.0.2.1", ...given },
    } as AuthorizeRequest);
    return refusal?.detail ?? (isOwn ? "own" : isRelay ? "relay" : "granted");
  };
  const shown = async () => {
    await streams.refresh();
    return [streams.has("ada/yard"), streams.version];
  };
  return { node, streams, tokens, expelled, ask, shown };
}

const rows = async () =>
  [
    ...(await sql<{ path: string; nodeUuid: string; isLive: boolean }[]>`
    select path, node_uuid, since is not null as is_live from streams order by path`),
  ].map(({ path, nodeUuid, isLive }) => [path, nodeUuid, isLive]);
const ELSEWHERE = "/ada/yard is published on another node";

test("a path is published on one node; the others show it while it is live, and accept it afterwards", async (t) => {
  const [a, b] = [await open(t), await open(t)];
  assert.equal(await a.ask({}), "granted");
  assert.deepEqual(await rows(), [["ada/yard", a.node.uuid, false]]);
  assert.equal(await b.ask({}), ELSEWHERE);
  assert.equal(await b.streams.locate("ada/yard"), null, "no keyframe yet");
  assert.deepEqual(await b.shown(), [false, 0]);
  a.streams.add(infoOf("ada/yard"));
  await poll("it is live", async () => (await rows())[0]?.[2] === true);
  assert.deepEqual(await b.shown(), [true, 1]);
  assert.equal((await b.streams.findNode("ada/yard"))?.uuid, a.node.uuid);
  assert.match(
    (await b.streams.locate("ada/yard")) ?? "",
    /^rtsp:\/\/relay:relay_[\w.-]+@10\.0\.0\.1:8554\/ada\/yard$/,
  );
  assert.equal(await a.streams.locate("ada/yard"), null);
  assert.deepEqual(await a.shown(), [false, 0]);
  // Its own hub rejects a second publisher; the stream stays.
  assert.equal(await a.ask({}), "granted");
  assert.equal((await rows())[0]?.[2], true);
  a.streams.remove("ada/yard");
  await poll("it has ended", async () => (await rows()).length === 0);
  assert.deepEqual(await b.shown(), [false, 2]);
  assert.equal(await b.ask({}), "granted");
  assert.equal(await a.ask({}), ELSEWHERE);
});

test("a stream ends with its hub, and counts no longer when the lease of its node has ended", async (t) => {
  const [a, b] = [await open(t), await open(t)];
  for (const path of ["ada/yard", "ada/gate"]) {
    assert.equal(await a.ask({ path }), "granted");
    a.streams.add(infoOf(path));
  }
  await poll("both are live", async () => (await rows()).every(([, , isLive]) => isLive));
  a.streams.clear();
  await poll("all have ended", async () => (await rows()).length === 0);
  a.streams.add(infoOf("ada/yard"));
  await poll("it is live again", async () => (await rows()).length === 1);
  assert.equal(await b.ask({}), ELSEWHERE);
  await sql`update nodes set lease_until = now() - interval '1 second' where uuid = ${a.node.uuid}`;
  assert.deepEqual(await b.shown(), [false, 2]);
  assert.equal(await b.streams.locate("ada/yard"), null);
  assert.equal(await b.ask({}), "granted");
  await sql`delete from nodes where uuid = ${b.node.uuid}`;
  assert.deepEqual(await rows(), [], "rows end with their node");
});

test("a late removal does not concern the next publisher", async (t) => {
  const a = await open(t);
  await a.streams.claim("ada/yard", true);
  a.streams.remove("ada/yard");
  await a.streams.claim("ada/yard", true);
  a.streams.add(infoOf("ada/yard"));
  await a.streams.close();
  assert.deepEqual(await rows(), [["ada/yard", a.node.uuid, true]]);
});

test("what the database does not know is written again; a publisher whose path was taken over is disconnected", async (t) => {
  const [a, b] = [await open(t, { isSwept: true }), await open(t)];
  await a.streams.claim("ada/yard", true);
  a.streams.add(infoOf("ada/yard"));
  await poll("it is live", async () => (await rows())[0]?.[2] === true);
  await sql`delete from streams`;
  await poll("it is written again", async () => (await rows())[0]?.[2] === true);
  // Left by a removal that failed.
  await sql`insert into streams (path, node_uuid, fence, is_by_key, since) values ('ada/gate', ${a.node.uuid}, 0, true, now())`;
  await poll("it is removed", async () => (await rows()).length === 1);
  assert.deepEqual(a.expelled, []);
  await sql`update streams set node_uuid = ${b.node.uuid}`;
  await poll("its publisher is disconnected", () => a.expelled.length > 0);
  assert.deepEqual(a.expelled, [`ada/yard: ${ELSEWHERE}`]);
  assert.deepEqual(await rows(), [["ada/yard", b.node.uuid, true]]);
});

test("while the database does not answer, relays use the last address, and runners publish", async (t) => {
  const [a, b] = [await open(t), await open(t)];
  await a.streams.claim("ada/yard", true);
  a.streams.add(infoOf("ada/yard"));
  await poll("it is live", async () => (await rows())[0]?.[2] === true);
  assert.notEqual(await b.streams.locate("ada/yard"), null);
  const { token } = b.tokens.issue("publish", "ada/processed");
  await sql.begin(async (transaction) => {
    await transaction`lock table streams in access exclusive mode`;
    const asked = [b.streams.locate("ada/yard"), b.streams.locate("ada/gate")];
    assert.equal(await b.ask({ path: "ada/processed", secret: token }), "own");
    const [known, unknown] = await Promise.all(asked);
    assert.match(known ?? "", /@10\.0\.0\.1:8554\/ada\/yard$/);
    assert.equal(unknown, null);
  });
  a.streams.remove("ada/yard");
  await poll("it has ended", async () => (await rows()).every(([path]) => path !== "ada/yard"));
  assert.equal(await b.streams.locate("ada/yard"), null);
});

test("runners publish like clients, but do not count against the limit of the key; streams of all nodes do", async (t) => {
  const [a, b] = [await open(t), await open(t, { maxPublished: 1 })];
  const { token } = a.tokens.issue("publish", "ada/processed");
  assert.equal(await a.ask({ path: "ada/processed", secret: token }), "own");
  a.streams.add(infoOf("ada/processed"));
  const other = b.tokens.issue("publish", "ada/processed").token;
  assert.match(await b.ask({ path: "ada/processed", secret: other }), /is published on another node/);
  await poll("it is live", async () => (await rows())[0]?.[2] === true);
  assert.equal(await a.ask({ path: "ada/gate" }), "granted");
  a.streams.add(infoOf("ada/gate"));
  await poll("both are live", async () => (await rows()).filter(([, , isLive]) => isLive).length === 2);
  assert.match(await b.ask({}), /Stream limit reached/);
  a.streams.remove("ada/gate");
  await poll("it has ended", async () => (await rows()).length === 1);
  assert.equal(await b.ask({ path: "ada/gate" }), "granted");
});

test("a token of a relay plays one path for a short time, and is never looked up as a key", async (t) => {
  let nowMs = Date.now();
  const [a, b] = [await open(t, { now: () => nowMs }), await open(t)];
  await a.streams.claim("ada/yard", true);
  a.streams.add(infoOf("ada/yard"));
  await poll("it is live", async () => (await rows())[0]?.[2] === true);
  const url = new URL((await b.streams.locate("ada/yard"))?.replace("rtsp:", "http:") ?? "");
  const secret = url.password;
  const play = { action: "play", path: "ada/yard", secret } as const;
  const wrong = "The token of the relay is not valid.";
  assert.equal(await a.ask(play), "relay");
  assert.equal(await a.ask({ ...play, action: "publish" }), wrong);
  assert.equal(await a.ask({ ...play, path: "ada/gate" }), wrong);
  const foreign = new ClusterKey(Buffer.alloc(32, 8)).sign("relay", ["play", "ada/yard"]);
  const purpose = new ClusterKey(SECRET).sign("request", ["play", "ada/yard"]);
  // Not the last character, of which only some bits count.
  const altered = secret.slice(0, -2) + (secret.at(-2) === "A" ? "B" : "A") + secret.slice(-1);
  for (const forged of ["relay_", `relay_${foreign}`, `relay_${purpose}`, altered])
    assert.equal(await a.ask({ ...play, secret: forged }), wrong);
  // Its end is rounded up to a second, by a clock that has gone on since.
  nowMs = Date.now() + (SIGNATURE_SECONDS + 2) * 1000;
  assert.equal(await a.ask(play), wrong);
});
