/**
 * What real clients said to the hub's two open ports, spoilt in all sorts of ways: nothing breaks, nothing is left over,
 * and nobody without the key gets or leaves a picture.
 */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import {
  clientPorts,
  converse,
  publisherDatagrams,
  publisherSession,
  spoilDatagrams,
  spoiling,
} from "../../hub/rtsp/fuzz.fixture.ts";
import { TestViewer } from "../../hub/webrtc/test-viewer.fixture.ts";
import { KEY, MediaPorts, SECRET, SECRET_PATH, type Session, WRONG_KEY } from "./media-ports.fixture.ts";
import { mutate, mutations } from "./mutate.fixture.ts";
import { collectGarbage, progress, rounds, rssMb } from "./rounds.fixture.ts";

const TOTAL = rounds(300, 20_000);
const BATCH = rounds(100, 1000);
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);
const TALK_BYTES = 2000;
const LEFT_OVER_MS = 15_000;
/** Growth of a process that has been warm for a tenth of the inputs. */
const MOST_GROWTH_MB = 60;

const ports = await MediaPorts.open();
after(() => ports.close());
const sessions = await ports.record();

const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
const base64 = (key: string) => Buffer.from(`any:${key}`).toString("base64");

/** As long, so that everything else about it stays right. */
function withWrongKey(said: Buffer): Buffer {
  const text = said.toString("latin1").replaceAll(KEY, WRONG_KEY).replaceAll(base64(KEY), base64(WRONG_KEY));
  return Buffer.from(text, "latin1");
}

/** RTSP gives every session a name, which the client repeats. */
const sessionOf = (text: string): string | undefined => /\r\nSession: *([^\r;]+)/i.exec(text)?.[1];

/** Where the request begins that these bytes are in. */
const findRequest = (said: Buffer, at: number): number =>
  said.lastIndexOf("\r\n", said.lastIndexOf(" RTSP/1.0\r\n", at)) + 2;

/** Says it all, in the name of the session that it is given, and hears what it is told until the end. */
async function replay(port: number, said: Buffer): Promise<Buffer> {
  const heard: Buffer[] = [];
  const socket = connect(port, "127.0.0.1");
  socket.on("data", (bytes) => heard.push(bytes)).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const old = sessionOf(said.toString("latin1"));
  const begin = old === undefined ? -1 : findRequest(said, said.indexOf(old));
  if (old === undefined || begin < 0) socket.end(said);
  else {
    socket.write(said.subarray(0, begin));
    const given = await hearSession(heard, closed);
    const rest = said.subarray(begin);
    socket.end(given === null ? rest : Buffer.from(rest.toString("latin1").replaceAll(old, given), "latin1"));
  }
  await closed;
  return Buffer.concat(heard);
}

const PATIENCE = 20;

async function hearSession(heard: readonly Buffer[], closed: Promise<void>): Promise<string | null> {
  let isOver = false;
  void closed.then(() => {
    isOver = true;
  });
  for (let i = 0; i < PATIENCE && !isOver; i += 1) {
    const given = sessionOf(Buffer.concat(heard).toString("latin1"));
    if (given !== undefined) return given;
    await sleep(2);
  }
  return null;
}

/** Publishers are gone, connections are counted down: at once, and in any case long before a watchdog would see to it. */
async function settle(): Promise<void> {
  const lateAt = performance.now() + LEFT_OVER_MS;
  while (ports.connections.count > 0 || ports.others.length > 0) {
    const left = `${ports.connections.count} connections, streams ${ports.others.join(", ") || "none"}`;
    assert.ok(performance.now() < lateAt, `left over: ${left}`);
    await sleep(1);
  }
}

const spoiltSession = fc.record({
  session: fc.constantFrom<Session>(...sessions),
  hasKey: fc.boolean(),
  changes: mutations(TALK_BYTES),
});

async function sendBatch(seed: number, count: number): Promise<{ granted: number; published: number }> {
  const counts = { granted: 0, published: 0 };
  await fc.assert(
    fc.asyncProperty(spoiltSession, async ({ session: { port, said, talkAt }, hasKey, changes }) => {
      const heard = await replay(port, mutate(hasKey ? said : withWrongKey(said), changes, talkAt));
      await settle();
      const { granted, published } = ports.look();
      if (!granted.some(({ action }) => action === "play")) assert.ok(!heard.includes(SECRET), "a picture got out");
      const mayPublish = granted.filter(({ action }) => action === "publish").map(({ path }) => path);
      for (const path of published) assert.ok(mayPublish.includes(path), `${path} was published without leave`);
      if (!hasKey) assert.deepEqual(granted, []);
      assert.deepEqual(ports.faults, []);
      counts.granted += granted.length;
      counts.published += published.length;
    }),
    { numRuns: count, seed, endOnFailure: true },
  );
  return counts;
}

test("what was recorded is whole: said again, it publishes and plays", async () => {
  ports.look();
  for (const { name, port, said } of sessions) {
    const heard = await replay(port, said);
    await settle();
    const { granted, published } = ports.look();
    assert.equal(granted.length > 0, true, name);
    if (name.includes("playing")) assert.ok(heard.includes(SECRET), name);
    else assert.equal(published.length, 1, name);
    await replay(port, withWrongKey(said));
    assert.deepEqual(ports.look(), { granted: [], published: [] }, name);
  }
});

test(`${TOTAL} spoilt sessions break nothing (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const socketsBefore = countSockets();
  const sum = { granted: 0, published: 0 };
  let warmMb = 0;
  for (let sent = 0; sent < TOTAL; sent += BATCH) {
    const { granted, published } = await sendBatch(SEED + sent, BATCH);
    sum.granted += granted;
    sum.published += published;
    progress("media-fuzz", sent + BATCH, TOTAL);
    collectGarbage();
    if (sent <= TOTAL / 10) warmMb = rssMb();
  }
  assert.ok(sum.granted > TOTAL / 10 && sum.published > TOTAL / 20, `it got deep enough: ${JSON.stringify(sum)}`);
  assert.ok(rssMb() - warmMb < MOST_GROWTH_MB, `it grew from ${warmMb.toFixed(0)} to ${rssMb().toFixed(0)} MB`);
  assert.equal(countSockets(), socketsBefore, "sockets are left");
});

const UDP_ROUNDS = rounds(2, 100);
const AT_ONCE = 20;
/** Longer than the server takes to look after its connections. */
const LINGER_MS = 600;

test(`${UDP_ROUNDS * AT_ONCE} publishers by UDP with spoilt packets break nothing (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const client = fc.record({ port: clientPorts, talk: fc.option(spoiling, { freq: 2 }), packets: spoiling });
  ports.look();
  await fc.assert(
    fc.asyncProperty(fc.array(client, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (clients) => {
      const talking = clients.map(({ port, talk, packets }, i) => {
        const url = `rtsp://127.0.0.1:${ports.rtspPort}/owner/udp-${i}`;
        const session = publisherSession(url, KEY, [port, port]);
        const datagrams = spoilDatagrams(packets, publisherDatagrams());
        return converse(ports.rtspPort, talk?.(session) ?? session, { datagrams, lingerMs: LINGER_MS });
      });
      await Promise.all(talking);
      await settle();
      assert.deepEqual(ports.faults, []);
    }),
    { numRuns: UDP_ROUNDS, seed: SEED, endOnFailure: true },
  );
  assert.ok(ports.look().published.length > 0, "some got as far as pictures");
});

const VIEWERS = rounds(3, 100);
const RECORDS = 200;

test(`${VIEWERS} viewers by WebRTC that seal whatever they like break nothing (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const whep = ports.openWhep();
  const record = fc.tuple(fc.integer({ min: 0, max: 30 }), fc.uint8Array({ maxLength: 200 }), fc.boolean());
  const join = async () => {
    const viewer = await TestViewer.create();
    const { id, sdp } = await whep.offer(SECRET_PATH, viewer.offer);
    await viewer.connect(sdp);
    const leave = () => {
      viewer.close();
      // Or it keeps its place until it is missed, and there are so many places.
      whep.close(SECRET_PATH, id);
    };
    return { viewer, leave };
  };
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: RECORDS, maxLength: RECORDS }), async (records) => {
        const { viewer: rude, leave: leaveRudely } = await join();
        for (const [type, body, isRtcp] of records) {
          if (isRtcp) rude.sendRtcp(Buffer.from([0x81, 192 + type, 0, body.length % 50, 0, 0, 0, 1, ...body]));
          // A good-bye would end it.
          else if (type !== 21) rude.send(rude.sealRecord(type, Buffer.from([type, ...body])));
        }
        const { viewer: other, leave } = await join();
        await other.until("a picture for another viewer", () => other.pictures.length > 0);
        leaveRudely();
        leave();
        assert.deepEqual(ports.faults, []);
      }),
      { numRuns: VIEWERS, seed: SEED, endOnFailure: true },
    );
  } finally {
    await whep.closeAll();
  }
});
