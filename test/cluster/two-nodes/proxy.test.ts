/** Behind HAProxy with the configuration in docker/cluster. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, describe, test } from "node:test";
import WebSocket from "ws";
import { MASTER_KEY } from "../../api/service.fixture.ts";
import { type Haproxy, haproxyIsMissing } from "../../haproxy.fixture.ts";
import { until } from "../../watch.fixture.ts";
import { answeringNode, balance, ownRecord, start } from "../cluster.fixture.ts";
import { first, second, yard } from "./two-nodes.fixture.ts";

describe("behind HAProxy", { skip: haproxyIsMissing }, async () => {
  if (haproxyIsMissing !== false) return;
  const uuids = [(await ownRecord(first)).uuid, (await ownRecord(second)).uuid];
  const haproxy = await balance([first, second]);

  test("requests reach both nodes, and RTSP and RTMP pass", async () => {
    await until(async () => isUp(await haproxy.states(), ["node1", "node2"]));
    const seen = new Set<string>();
    for (let i = 0; i < 10; i += 1) seen.add(await answeringNode(haproxy.url));
    assert.deepEqual([...seen].sort(), [...uuids].sort());
    const answer = await exchange(haproxy.rtspPort, "OPTIONS rtsp://127.0.0.1/x RTSP/1.0\r\nCSeq: 7\r\n\r\n");
    assert.match(answer, /^RTSP\/1\.0 \d+ [\s\S]*CSeq: 7/);
    // C0 and C1 of the handshake of RTMP; the answer begins with the version.
    const handshake = Buffer.alloc(1537);
    handshake[0] = 3;
    assert.equal((await exchange(haproxy.rtmpPort, handshake)).charCodeAt(0), 3);
  });

  test("a node reports itself and the states of all nodes as metrics", async () => {
    const metrics = await first.expect<string>(200, "GET", "/metrics");
    for (const line of ['nodes{state="live"} 2', 'nodes{state="lost"} 0', "processes_waiting 0", "node_processes 0"])
      assert.ok(metrics.includes(`\nwindhover_${line}\n`), line);
    assert.doesNotMatch(metrics, /^windhover_node_capacity_cores /m, "not limited");
  });

  test("events and websockets pass; a node that drains gets no new requests and keeps its connections", async () => {
    const { process_uuid: uuid, detection_data_url: announced } = await start(first, yard.uuid);
    const { pathname, search } = new URL(announced);
    const socket = new WebSocket(`${haproxy.url.replace("http", "ws")}${pathname}${search}`, {
      headers: { api_key: MASTER_KEY },
    });
    after(() => socket.terminate());
    const message = () => once(socket, "message", { signal: AbortSignal.timeout(LIMIT_MS) });
    await message();
    // Several, so that some pass each node.
    const streams = await Promise.all([1, 2, 3, 4].map(() => readEvents(haproxy, uuid)));
    for (const stream of streams) await stream.next();

    // The process is not on this one and stays where it is.
    const runsFirst = (await ownRecord(first)).reserved.processes === 1;
    const [drained, other] = runsFirst ? ["node2", "node1"] : ["node1", "node2"];
    const [drainedUuid, otherUuid] = runsFirst ? [uuids[1], uuids[0]] : [uuids[0], uuids[1]];
    await first.expect(200, "POST", `/nodes/${drainedUuid}/drain`, { json: { seconds: 300 } });
    await until(async () => (await haproxy.states())[drained ?? ""]?.startsWith("DOWN") === true);
    assert.equal((await haproxy.states())[other ?? ""], "UP");
    for (let i = 0; i < 6; i += 1) assert.equal(await answeringNode(haproxy.url), otherUuid);
    await message();
    for (const stream of streams) await stream.next();
    for (const stream of streams) await stream.close();
    await first.expect(200, "DELETE", `/nodes/${drainedUuid}/drain`);
    await until(async () => isUp(await haproxy.states(), ["node1", "node2"]));
    await first.expect(200, "POST", `/process/${uuid}/stop`);
  });
});

const LIMIT_MS = 60_000;

/** `next` resolves with further events that are received after the call. */
async function readEvents({ url }: Haproxy, uuid: string) {
  const events = await fetch(`${url}/process/${uuid}/events`, { headers: { api_key: MASTER_KEY } });
  assert.match(events.headers.get("content-type") ?? "", /^text\/event-stream/);
  const reader = events.body?.getReader() ?? assert.fail("no body");
  let [count, isDone] = [0, false];
  const reading = (async () => {
    while (!isDone) {
      isDone = (await reader.read()).done;
      count += 1;
    }
  })().catch(() => {});
  return {
    async next() {
      const before = count;
      await until(async () => count > before || isDone, LIMIT_MS);
      assert.equal(isDone, false, "the stream ended");
    },
    async close() {
      await reader.cancel();
      await reading;
    },
  };
}

const isUp = (states: Readonly<Record<string, string>>, names: readonly string[]): boolean =>
  names.every((name) => states[name] === "UP");

/** Sends and returns the first bytes of the answer. */
async function exchange(port: number, sent: string | Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  after(() => socket.destroy());
  socket.write(sent);
  const [chunk] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return chunk.toString("latin1");
}
