import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { makeClip } from "../../test/graph.fixture.ts";
import { awaitGone, listDescendants, type Serving, ServingFolder } from "../serve/serving.fixture.ts";

/** As it is by default: a runner that waits for a process ends with the service, too. */
const WITH_SPARE = { WINDHOVER_RUNNERS_SPARE: "1" };

const run = promisify(execFile);

let folder: ServingFolder;
before(async () => {
  folder = await ServingFolder.make({ isNew: true });
});
after(() => folder.close());

async function untilLogged(serving: Serving, words: RegExp): Promise<void> {
  while (!words.test(serving.stderr)) {
    if (serving.child.exitCode !== null) throw new Error(serving.stderr);
    await Promise.race([once(serving.child.stderr as NodeJS.ReadableStream, "data"), serving.ended]);
  }
}

/** Each test continues from the one before, with the same service. */
describe("a service on data of its own", () => {
  let serving: Serving;
  let url = "";
  let key = "";
  let uuid = "";

  const ask = (path: string, init: RequestInit = {}) => fetch(url + path, { ...init, headers: { api_key: key } });
  const read = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const answer = await ask(path, init);
    assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
    return (await answer.json()) as T;
  };
  const metricsOfProcess = async (): Promise<boolean> => (await (await ask("/metrics")).text()).includes(uuid);

  /** Ends it and expects that nothing of it is left. */
  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const children = listDescendants(serving.pid);
    assert.notEqual(children.length, 0);
    const code = await serving.stop(signal);
    assert.deepEqual(await awaitGone(children), []);
    return code;
  }

  test("reports a port in use, exits with 1, leaves nothing and creates no key", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    try {
      const failed = folder.serve({
        env: { WINDHOVER_HTTP_PORT: String(port), WINDHOVER_LOG_LEVEL: "debug" },
      });
      await untilLogged(failed, /"part":"database"/);
      const children = listDescendants(failed.pid);
      assert.equal((await failed.ended).code, 1, failed.stderr);
      const words = `^windhover: cannot listen on 127\\.0\\.0\\.1:${port}: another program`;
      assert.match(failed.stderr, new RegExp(words, "m"));
      assert.deepEqual(await awaitGone(children), []);
      assert.doesNotMatch(failed.stdout, /ready|master_key/);
    } finally {
      taken.close();
    }
  });

  test("the first start prints a master key, then a ready line, and answers", async () => {
    serving = folder.serve({ env: WITH_SPARE });
    key = (await serving.event("master_key")).api_key ?? "";
    const ready = await serving.event("ready");
    url = ready.url ?? "";
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(ready.docs, `${url}/docs`);
    assert.equal(ready.listen, url);
    assert.match(ready.rtsp ?? "", /^rtsp:\/\/127\.0\.0\.1:[1-9]\d*$/);
    assert.match(ready.rtmp ?? "", /^rtmp:\/\/127\.0\.0\.1:[1-9]\d*$/);
    const events = serving.stdout.trimEnd().split("\n");
    assert.deepEqual(
      events.map((line) => JSON.parse(line).event),
      ["master_key", "ready"],
    );
    const { components } = await read<{ components: Record<string, string> }>("/status");
    assert.deepEqual(components, {
      ...{ database: "ok", media_hub: "ok", recordings: "ok", runners: "ok", disk: "ok" },
    });
    const anonymous = (await (await fetch(`${url}/status`)).json()) as Record<string, unknown>;
    assert.equal(anonymous.components, undefined);
  });

  test("rejects a second service on the same data, and the first keeps running", async () => {
    const second = folder.serve();
    assert.equal((await second.ended).code, 1);
    assert.match(second.stderr, /^windhover: Another Windhover/m);
    assert.equal((await read<{ status: string }>("/status")).status, "ok");
  });

  test("the numbers of a process come with it", async () => {
    const clip = await readFile(await makeClip(folder.path, 5_000, "width=64&height=48"));
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(clip)]), "clip.mp4");
    const source = await read<{ uuid: string }>("/video", { method: "POST", body: form });
    const start = `/start?source_uuid=${source.uuid}&graph=demo`;
    uuid = (await read<{ process_uuid: string }>(start, { method: "POST" })).process_uuid;
    while (!(await metricsOfProcess())) await wait(50);
    assert.equal((await fetch(`${url}/metrics`)).status, 403);
  });

  test("no password of a camera, a broker, a receiver or a publishing target is in its database as it is", async () => {
    const post = (path: string, body: unknown) =>
      fetch(url + path, {
        method: "POST",
        headers: { api_key: key, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }).then(async (answer) => assert.equal(answer.status, 201, `${path}: ${await answer.text()}`));
    const broker = { ip: "192.0.2.1", port: 1883, topic: "t", username: "me", password: "hunter2-broker" };
    const camera = { alias: "cam", stream_type: "rtsp", input_url: "rtsp://me:hunter2-camera@192.0.2.1/main" };
    await post("/stream", { ...camera, telemetry_cfg: { type: "mqtt", parameters: broker } });
    await post("/output", { alias: "out", type: "rtmp", url: "rtmp://192.0.2.1/live/hunter2-target" });
    await post("/alert", {
      ...{ alias: "crowd", type: "grid-density", trigger: { count: 3 }, parameters: { rows: 2, columns: 2 } },
      output: [
        { type: "mqtt", config: { host: "192.0.2.1:1883", topic: "a", username: "me", password: "hunter2-alerts" } },
        {
          type: "webhook",
          config: {
            url: "http://me:hunter2-receiver@192.0.2.1/",
            secret: `whsec_${btoa("hunter2-webhook-0123456789")}`,
          },
        },
      ],
    });
    const socket = join(folder.path, "data/postgres/socket");
    const { stdout: dump } = await run("pg_dump", ["--host", socket, "--username", "windhover", "postgres"]);
    assert.match(dump, /192\.0\.2\.1|crowd/, "it is the database");
    assert.doesNotMatch(dump, /hunter2|aHVudGVyMi/);
    assert.equal((await stat(join(folder.path, "data/secrets.key"))).mode & 0o777, 0o600);
  });

  test("SIGINT ends all of it", async () => {
    assert.equal(await end("SIGINT"), 0);
    assert.ok(!serving.stderr.includes(key), "the key is in the log");
    for (const line of serving.stderr.trimEnd().split("\n")) assert.doesNotThrow(() => JSON.parse(line), line);
  });

  test("rejects another secrets key, exits with 1 and changes nothing", async () => {
    const failed = folder.serve({ env: { WINDHOVER_SECRETS_KEY: "ab".repeat(32) } });
    assert.equal((await failed.ended).code, 1);
    assert.match(
      failed.stderr,
      /^windhover: Secrets in this database .* sealed with the key [0-9a-f]{12}\. secrets\.key has/m,
    );
  });

  const RESUMED = () => new RegExp(`"process":"${uuid}".*"to":"running"`);

  test("the next start finds its key, prints none, and runs what ran", async () => {
    serving = folder.serve();
    url = await serving.url();
    assert.doesNotMatch(serving.stdout, /master_key/);
    await untilLogged(serving, RESUMED());
    const { processes } = await read<{ processes: { uuid: string }[] }>("/processes");
    assert.deepEqual(
      processes.map((process) => process.uuid),
      [uuid],
    );
  });

  test("killed, it leaves neither runners nor a database", async () => {
    assert.equal(await end("SIGKILL"), null);
  });

  test("after that it runs what ran, too; the numbers of a process go with it", async () => {
    serving = folder.serve({ env: { WINDHOVER_PUBLIC_URL: "https://windhover.example/" } });
    const ready = await serving.event("ready");
    assert.equal(ready.url, "https://windhover.example", "behind a proxy it prints its listen address as well");
    url = ready.listen ?? "";
    await untilLogged(serving, RESUMED());
    while (!(await metricsOfProcess())) await wait(50);
    await read(`/process/${uuid}`, { method: "DELETE" });
    assert.equal(await metricsOfProcess(), false);
  });

  test("a second signal ends it at once and leaves nothing", async () => {
    const children = listDescendants(serving.pid);
    assert.notEqual(children.length, 0);
    serving.child.kill("SIGTERM");
    serving.child.kill("SIGINT");
    await serving.ended;
    assert.deepEqual(await awaitGone(children), []);
  });

  test("SIGTERM while it starts ends it, and leaves nothing", async () => {
    serving = folder.serve({ env: { WINDHOVER_LOG_LEVEL: "debug" } });
    await untilLogged(serving, /"part":"database"/);
    const children = listDescendants(serving.pid);
    assert.equal(await serving.stop("SIGTERM"), 0);
    assert.deepEqual(await awaitGone(children), []);
    assert.doesNotMatch(serving.stdout, /ready/);
  });
});

describe("a service that cannot start", () => {
  const NOWHERE = { DATABASE_URL: "postgres://u:hunter2@127.0.0.1:1/x", WINDHOVER_DATABASE_START_SECONDS: "1" };
  const rows: readonly (readonly [what: string, env: NodeJS.ProcessEnv, says: RegExp])[] = [
    ["wrong settings", { WINDHOVER_HTTP_PORT: "x", WINDHOVER_HTP_HOST: "y" }, /HTP_HOST[\s\S]*http\.port is "x"/],
    ["a data folder that cannot be", { WINDHOVER_DATA_DIR: "/dev/null/data" }, /data folder \/dev\/null\/data/],
    ["a database that is not there", NOWHERE, /did not respond/],
  ];
  describe("reports it without a stack", { concurrency: true }, () => {
    for (const [what, env, says] of rows)
      test(what, async () => {
        const serving = folder.serve({ env });
        assert.equal((await serving.ended).code, 1);
        assert.match(serving.stderr, says);
        assert.doesNotMatch(serving.stderr, /hunter2|\n {4}at /);
        assert.equal(serving.stdout, "");
      });
  });
});
