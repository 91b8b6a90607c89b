/** Any node answers any request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlertNotice } from "../../../schemas/api/events.ts";
import type { ProcessRecord } from "../../../schemas/api/processes.ts";
import { toEvidence } from "../../../server/alerts/alert-evidence.ts";
import { connectClient } from "../../../server/store/client.ts";
import { DATABASE_LIMITS, silentLog } from "../../../server/store/database.fixture.ts";
import { readDatabaseUrl } from "../../../server/store/database.ts";
import { insertEvidence } from "../../../server/store/evidence.ts";
import { insertNotices } from "../../../server/store/notices.ts";
import { testKeyring } from "../../../server/store/sealing/test-key.fixture.ts";
import { newUuid } from "../../../server/uuid.ts";
import { Detections, readFeed } from "../../api/process-client.fixture.ts";
import { MASTER_KEY, type TestService } from "../../api/service.fixture.ts";
import { until } from "../../watch.fixture.ts";
import { compareAnswers, listNodes, ownRecord, read, start } from "../cluster.fixture.ts";
import { databaseUrl, first, second, yard } from "./two-nodes.fixture.ts";

/** Server-sent events, as text. */
class EventReader {
  readonly #abort = new AbortController();
  readonly #response: Promise<Response>;
  #pieces: AsyncIterator<Uint8Array> | null = null;
  #text = "";

  constructor(url: string) {
    this.#response = fetch(url, { headers: { api_key: MASTER_KEY }, signal: this.#abort.signal });
  }

  async until(part: string): Promise<string> {
    const { body } = await this.#response;
    this.#pieces ??= (body ?? assert.fail("no body"))[Symbol.asyncIterator]();
    while (!this.#text.includes(part)) {
      const { value, done } = await this.#pieces.next();
      assert.ok(done !== true, `it ended before ${part}: ${this.#text.slice(-1000)}`);
      this.#text += Buffer.from(value).toString();
    }
    return this.#text;
  }

  close(): void {
    this.#abort.abort();
  }
}

const reserved = async (service: TestService) => (await ownRecord(service)).reserved.processes;

test("both nodes list both, with what they offer and what is reserved", async () => {
  for (const service of [first, second]) {
    const { nodes, waiting } = await listNodes(service);
    assert.deepEqual(
      nodes.map(({ state, capacity }) => [state, capacity.processes]),
      [
        ["live", 1],
        ["live", 1],
      ],
    );
    assert.equal(waiting, 0);
    assert.equal(nodes.filter(({ is_this }) => is_this).length, 1);
    await service.expect(200, "GET", "/readyz", { key: null });
    await service.expect(200, "GET", "/healthz", { key: null });
  }
});

test("starts on one node are placed on both, up to the capacity; every node answers for every process", async (t) => {
  const one = await start(second, yard.uuid);
  const isOnFirst = (await reserved(first)) === 1;
  const started = [one, await start(second, yard.uuid)];
  const uuids = started.map(({ process_uuid: uuid }) => uuid);
  assert.deepEqual([await reserved(first), await reserved(second)], [1, 1]);
  const full = await second.call<{ code: string }>("POST", `/start?source_uuid=${yard.uuid}`);
  assert.deepEqual([full.status, full.body.code], [503, "capacity_exhausted"]);
  assert.ok(Number(full.headers.get("retry-after")) > 0);

  await t.test("every operation of a process gives the same answer on every node", () =>
    compareAnswers([first, second], uuids),
  );

  await t.test("every way to change a process", async () => {
    for (const uuid of uuids) {
      for (const [service, other] of [
        [first, second],
        [second, first],
      ] as const) {
        assert.equal((await service.expect<ProcessRecord>(200, "POST", `/process/${uuid}/pause`)).state, "paused");
        assert.equal((await read(other, uuid)).state, "paused");
        assert.equal((await other.call("POST", `/process/${uuid}/pause`)).status, 409);
        await other.expect(200, "POST", `/process/${uuid}/resume`);
        await service.expect(200, "PATCH", `/process/${uuid}/graph`, { json: { params: { confidence: 0.5 } } });
      }
      assert.equal((await read(first, uuid)).params.confidence, 0.5);
    }
  });

  await t.test("a websocket and a feed through the other node; a second websocket is rejected anywhere", async () => {
    for (const uuid of uuids) {
      const urlOn = (service: TestService, path: string): string =>
        `${service.url.replace("http", path === "feed" ? "http" : "ws")}/process/${uuid}/${path}?api_key=${MASTER_KEY}`;
      const detections = await Detections.open(urlOn(first, "detection_data"));
      await detections.next(2);
      for (const service of [first, second])
        await assert.rejects(Detections.open(urlOn(service, "detection_data")), /409/);
      detections.close();
      assert.equal((await readFeed(urlOn(second, "feed"), 2)).length, 2);
    }
  });

  await t.test("the listing of each node shows what the other one runs", async () => {
    await until(async () => {
      for (const service of [first, second]) {
        const { processes } = await service.expect<{ processes: ProcessRecord[] }>(200, "GET", "/processes");
        if (processes.length !== 2 || processes.some(({ stats }) => stats.fps_in === 0)) return false;
      }
      return true;
    });
  });

  await t.test("an alert that is registered or deleted on one node is in effect on all when that answers", async () => {
    const watching = async (alertUuid: string): Promise<number> => {
      const graphs = uuids.map((uuid) => first.send("GET", `/process/${uuid}/graph`, {}));
      return (await Promise.all(graphs)).filter(({ text }) => text.includes(alertUuid)).length;
    };
    const config = { host: "127.0.0.1:1", topic: "alerts/crowd" };
    const json = {
      ...{ alias: "crowd", type: "grid-density", trigger: { count: 3 }, parameters: { rows: 2, columns: 2 } },
      ...{ filter: { class_names: ["person"] }, output: [{ type: "mqtt", config }] },
    };
    const { uuid } = await second.expect<{ uuid: string }>(201, "POST", "/alert", { json });
    assert.equal(await watching(uuid), 2);
    await second.expect(200, "DELETE", `/alert/${uuid}`);
    assert.equal(await watching(uuid), 0);
  });

  await t.test("clients of a process are notified of evidence that another node completes", async (t) => {
    const sql = connectClient(readDatabaseUrl(databaseUrl), DATABASE_LIMITS, silentLog, testKeyring);
    t.after(() => sql.end());
    const [user] = await sql<{ uuid: string }[]>`select uuid from users limit 1`;
    const userUuid = user?.uuid ?? assert.fail("no user");
    const nodes = await Promise.all([first, second].map(async (service) => (await ownRecord(service)).uuid));
    for (const [i, uuid] of (isOnFirst ? uuids : uuids.toReversed()).entries()) {
      const streams = [first, second].map((service) => new EventReader(`${service.url}/process/${uuid}/events`));
      await Promise.all(streams.map((stream) => stream.until('"state":"running"')));
      const noticeUuid = newUuid();
      // The node that does not run it has no video of it either.
      const nodeUuid = nodes[1 - i] ?? "";
      const event = { alert: "a", type: "flow-control", timeMs: Date.now() - 60_000, tracks: [], data: {} };
      const notice: AlertNotice = {
        ...{ id: noticeUuid, alert_uuid: newUuid(), alias: "gate", type: "flow-control", process_uuid: uuid },
        ...{ source_uuid: yard.uuid, timestamp: new Date(event.timeMs).toISOString(), event: "triggered" },
        ...{ tracks: [], data: {} },
      };
      const setting = { clip: { before_seconds: 1, after_seconds: 0, boxes: false }, snapshot: false };
      const place = { noticeUuid, userUuid, sourceUuid: yard.uuid, processUuid: uuid, nodeUuid };
      await sql.begin(async (transaction) => {
        await insertNotices(transaction, [{ userUuid, notice }]);
        const evidence = toEvidence({ ...event, event: "triggered" }, setting, {
          ...{ ...place, destinations: [], isFile: false },
        });
        await insertEvidence(transaction, [evidence], { pending: 10, bytes: 2 ** 30 });
      });
      for (const stream of streams) {
        const text = await stream.until("evidence-ready");
        assert.ok(text.includes(noticeUuid));
        stream.close();
      }
    }
  });

  await t.test("a drained node hands its process over when there is room, and takes no more", async () => {
    const { uuid: drained } = await ownRecord(first);
    const [moving = "", victim = ""] = isOnFirst ? uuids : uuids.toReversed();
    await second.expect(200, "POST", `/nodes/${drained}/drain`, { json: { seconds: 120 } });
    await until(async () => (await ownRecord(first)).state === "draining");
    await until(async () => (await first.call("GET", "/readyz", { key: null })).status === 503);
    await second.expect(200, "DELETE", `/process/${victim}`);
    await until(async () => (await reserved(second)) === 1 && (await reserved(first)) === 0);
    await until(async () => (await read(first, moving)).state === "running");
    assert.equal((await read(second, moving)).error, null);
    await second.expect(200, "DELETE", `/nodes/${drained}/drain`);
  });

  await t.test("a request that no node has signed, or for another node, is rejected", async () => {
    const [uuid] = uuids;
    const hop = Buffer.from(
      JSON.stringify({ to: (await ownRecord(first)).uuid, address: "1.2.3.4", publicUrl: "", fence: 1 }),
    );
    for (const signature of ["", ".", `.zzzzzz.${"A".repeat(43)}`]) {
      const answer = await first.call<{ code: string }>("GET", `/process/${uuid}`, {
        headers: { "windhover-hop": `${hop.toString("base64url")}${signature}` },
      });
      assert.deepEqual([answer.status, answer.body.code], [403, "signature_invalid"]);
    }
    const answer = await first.send("POST", `/cluster/claim/${uuid}`, {});
    assert.equal(answer.status, 404);
  });
  await second.expect(200, "DELETE", "/processes");
});
