import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { awaitGone, listDescendants, type Serving, ServingFolder } from "../serve/serving.fixture.ts";

const status = async (url: string, key?: string): Promise<Record<string, unknown>> => {
  const answer = await fetch(`${url}/status`, { headers: key === undefined ? {} : { api_key: key } });
  assert.equal(answer.status, 200);
  return (await answer.json()) as Record<string, unknown>;
};

describe("a service on data of its own", () => {
  let folder: ServingFolder;
  let key = "";
  before(async () => {
    folder = await ServingFolder.make();
  });
  after(() => folder.close());

  test("prints a master key once and a ready line, answers, and leaves nothing on SIGTERM", async () => {
    const serving = folder.serve();
    key = (await serving.event("master_key")).api_key ?? "";
    const ready = await serving.event("ready");
    assert.match(ready.url ?? "", /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(ready.docs, `${ready.url}/docs`);
    assert.deepEqual(
      serving.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).event),
      ["master_key", "ready"],
    );
    const { components } = await status(ready.url ?? "", key);
    assert.equal((components as Record<string, string>).database, "ok");
    assert.equal((await status(ready.url ?? "")).components, undefined);
    const children = listDescendants(serving.pid);
    assert.notEqual(children.length, 0);
    assert.equal(await serving.stop("SIGTERM"), 0);
    assert.deepEqual(await awaitGone(children), []);
    assert.ok(!serving.stderr.includes(key), "the key is in the log");
    for (const line of serving.stderr.trimEnd().split("\n")) assert.doesNotThrow(() => JSON.parse(line), line);
  });

  test("finds its key again with the next start, prints none, and leaves nothing on SIGINT", async () => {
    const serving = folder.serve();
    const url = await serving.url();
    assert.doesNotMatch(serving.stdout, /master_key/);
    assert.notEqual((await status(url, key)).components, undefined);
    const children = listDescendants(serving.pid);
    assert.equal(await serving.stop("SIGINT"), 0);
    assert.deepEqual(await awaitGone(children), []);
  });

  test("killed, it leaves neither runners nor a database, and starts again", async () => {
    const serving = folder.serve();
    await serving.url();
    const children = listDescendants(serving.pid);
    assert.notEqual(children.length, 0);
    assert.equal(await serving.stop("SIGKILL"), null);
    assert.deepEqual(await awaitGone(children), []);
    const again = folder.serve();
    assert.notEqual((await status(await again.url(), key)).components, undefined);
    assert.equal(await again.stop(), 0);
  });

  test("a second one on the same data is refused, and the first goes on", async () => {
    const first = folder.serve();
    const url = await first.url();
    const second = folder.serve();
    assert.equal((await second.ended).code, 1);
    assert.match(second.stderr, /windhover: .*(another|already|second)/i);
    assert.equal((await status(url, key)).status, "ok");
    assert.equal(await first.stop(), 0);
  });

  test("a second signal ends it at once, and then nothing is left either", async () => {
    const serving = folder.serve();
    await serving.url();
    const children = listDescendants(serving.pid);
    serving.child.kill("SIGTERM");
    serving.child.kill("SIGINT");
    await serving.ended;
    assert.deepEqual(await awaitGone(children), []);
  });

  test("a signal while it starts ends it, and leaves nothing", async () => {
    const serving = folder.serve({ env: { WINDHOVER_LOG_LEVEL: "debug" } });
    await untilLogged(serving, /"part":"database"/);
    const children = listDescendants(serving.pid);
    assert.equal(await serving.stop("SIGTERM"), 0);
    assert.deepEqual(await awaitGone([...children, serving.pid]), []);
    assert.doesNotMatch(serving.stdout, /ready/);
  });
});

async function untilLogged(serving: Serving, words: RegExp): Promise<void> {
  while (!words.test(serving.stderr)) {
    if (serving.child.exitCode !== null) throw new Error(serving.stderr);
    await once(serving.child.stderr as NodeJS.ReadableStream, "data");
  }
}

describe("a service that cannot start", () => {
  let folder: ServingFolder;
  before(async () => {
    folder = await ServingFolder.make();
  });
  after(() => folder.close());

  test("says that its port is in use, ends with 1 and leaves nothing", async () => {
    const taken = createServer();
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    try {
      const serving = folder.serve({ env: { WINDHOVER_HTTP_PORT: String(port) } });
      await untilLogged(serving, /migrated/);
      const children = listDescendants(serving.pid);
      assert.equal((await serving.ended).code, 1);
      assert.match(
        serving.stderr,
        new RegExp(`^windhover: cannot listen on 127\\.0\\.0\\.1:${port}: another program`, "m"),
      );
      assert.deepEqual(await awaitGone(children), []);
      assert.doesNotMatch(serving.stdout, /ready/);
    } finally {
      taken.close();
    }
  });

  const rows: readonly (readonly [what: string, env: NodeJS.ProcessEnv, says: RegExp])[] = [
    [
      "settings that are wrong",
      { WINDHOVER_HTTP_PORT: "x", WINDHOVER_HTP_HOST: "y" },
      /HTP_HOST[\s\S]*http\.port is "x"/,
    ],
    ["a data folder that cannot be", { WINDHOVER_DATA_DIR: "/dev/null/data" }, /data folder \/dev\/null\/data/],
    [
      "a database that is not there",
      { DATABASE_URL: "postgres://u:hunter2@127.0.0.1:1/x", WINDHOVER_DATABASE_START_SECONDS: "1" },
      /did not answer/,
    ],
  ];
  for (const [what, env, says] of rows)
    test(`says so without a stack: ${what}`, async () => {
      const serving = folder.serve({ env });
      assert.equal((await serving.ended).code, 1);
      assert.match(serving.stderr, says);
      assert.doesNotMatch(serving.stderr, /hunter2|\n {4}at /);
      assert.equal(serving.stdout, "");
    });
});
