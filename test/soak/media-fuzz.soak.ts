/**
 * Mutated sessions of real clients on the hub's two open ports: no errors, no leaks, and no client without the key receives
 * or publishes a picture.
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
const HEAD_BYTES = 2000;
const LEFT_OVER_MS = 15_000;
/** Measured after a tenth of the inputs. */
const MAX_GROWTH_MB = 60;

const ports = await MediaPorts.open();
after(() => ports.close());
const sessions = await ports.record();

const countSockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
const base64 = (key: string) => Buffer.from(`any:${key}`).toString("base64");

/** A key of the same length, so that the rest of the session stays valid. */
function withWrongKey(sent: Buffer): Buffer {
  const text = sent.toString("latin1").replaceAll(KEY, WRONG_KEY).replaceAll(base64(KEY), base64(WRONG_KEY));
  return Buffer.from(text, "latin1");
}

/** The id of the RTSP session, which the client repeats. */
const sessionOf = (text: string): string | undefined => /\r\nSession: *([^\r;]+)/i.exec(text)?.[1];

/** Start of the request that contains this position. */
const findRequest = (sent: Buffer, at: number): number =>
  sent.lastIndexOf("\r\n", sent.lastIndexOf(" RTSP/1.0\r\n", at)) + 2;

/** Sends a recorded session with the session id of the new connection, and resolves with all received bytes. */
async function replay(port: number, sent: Buffer): Promise<Buffer> {
  const received: Buffer[] = [];
  const socket = connect(port, "127.0.0.1");
  socket.on("data", (bytes) => received.push(bytes)).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const old = sessionOf(sent.toString("latin1"));
  const begin = old === undefined ? -1 : findRequest(sent, sent.indexOf(old));
  if (old === undefined || begin < 0) socket.end(sent);
  else {
    socket.write(sent.subarray(0, begin));
    const given = await awaitSession(received, closed);
    const rest = sent.subarray(begin);
    socket.end(given === null ? rest : Buffer.from(rest.toString("latin1").replaceAll(old, given), "latin1"));
  }
  await closed;
  return Buffer.concat(received);
}

const SESSION_POLLS = 20;

async function awaitSession(received: readonly Buffer[], closed: Promise<void>): Promise<string | null> {
  let isOver = false;
  void closed.then(() => {
    isOver = true;
  });
  for (let i = 0; i < SESSION_POLLS && !isOver; i += 1) {
    const given = sessionOf(Buffer.concat(received).toString("latin1"));
    if (given !== undefined) return given;
    await sleep(2);
  }
  return null;
}

/** Until publishers and connections are gone; much sooner than a watchdog would close them. */
async function settle(): Promise<void> {
  const lateAt = performance.now() + LEFT_OVER_MS;
  while (ports.connections.count > 0 || ports.others.length > 0) {
    const left = `${ports.connections.count} connections, streams ${ports.others.join(", ") || "none"}`;
    assert.ok(performance.now() < lateAt, `still open: ${left}`);
    await sleep(1);
  }
}

const mutatedSession = fc.record({
  session: fc.constantFrom<Session>(...sessions),
  hasKey: fc.boolean(),
  changes: mutations(HEAD_BYTES),
});

async function sendBatch(seed: number, count: number): Promise<{ granted: number; published: number }> {
  const counts = { granted: 0, published: 0 };
  await fc.assert(
    fc.asyncProperty(mutatedSession, async ({ session: { port, sent, start }, hasKey, changes }) => {
      const received = await replay(port, mutate(hasKey ? sent : withWrongKey(sent), changes, start));
      await settle();
      const { granted, published } = ports.takeEvents();
      if (!granted.some(({ action }) => action === "play")) assert.ok(!received.includes(SECRET), "a picture leaked");
      const mayPublish = granted.filter(({ action }) => action === "publish").map(({ path }) => path);
      for (const path of published) assert.ok(mayPublish.includes(path), `${path} was published without authorization`);
      if (!hasKey) assert.deepEqual(granted, []);
      assert.deepEqual(ports.faults, []);
      counts.granted += granted.length;
      counts.published += published.length;
    }),
    { numRuns: count, seed, endOnFailure: true },
  );
  return counts;
}

test("replayed sessions publish and play, and not with a wrong key", async () => {
  ports.takeEvents();
  for (const { name, port, sent } of sessions) {
    const received = await replay(port, sent);
    await settle();
    const { granted, published } = ports.takeEvents();
    assert.equal(granted.length > 0, true, name);
    if (name.includes("playing")) assert.ok(received.includes(SECRET), name);
    else assert.equal(published.length, 1, name);
    await replay(port, withWrongKey(sent));
    assert.deepEqual(ports.takeEvents(), { granted: [], published: [] }, name);
  }
});

test(`${TOTAL} mutated sessions cause no error, leak or unauthorized access (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
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
  assert.ok(
    sum.granted > TOTAL / 10 && sum.published > TOTAL / 20,
    `too few sessions got far enough: ${JSON.stringify(sum)}`,
  );
  assert.ok(rssMb() - warmMb < MAX_GROWTH_MB, `RSS grew from ${warmMb.toFixed(0)} to ${rssMb().toFixed(0)} MB`);
  assert.equal(countSockets(), socketsBefore, "leaked sockets");
});

const UDP_ROUNDS = rounds(2, 100);
const CONCURRENCY = 20;
/** Longer than the interval in which the server checks its connections. */
const LINGER_MS = 600;

test(`${UDP_ROUNDS * CONCURRENCY} UDP publishers with mutated packets cause no error (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const client = fc.record({ port: clientPorts, talk: fc.option(spoiling, { freq: 2 }), packets: spoiling });
  ports.takeEvents();
  await fc.assert(
    fc.asyncProperty(fc.array(client, { minLength: CONCURRENCY, maxLength: CONCURRENCY }), async (clients) => {
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
  assert.ok(ports.takeEvents().published.length > 0, "some published pictures");
});

const VIEWERS = rounds(3, 100);
const RECORDS = 200;

test(`${VIEWERS} WebRTC viewers with random sealed records cause no error (seed ${SEED})`, {
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
      // Otherwise it counts towards the limit of viewers until its timeout.
      whep.close(SECRET_PATH, id);
    };
    return { viewer, leave };
  };
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: RECORDS, maxLength: RECORDS }), async (records) => {
        const { viewer: bad, leave: leaveBad } = await join();
        for (const [type, body, isRtcp] of records) {
          if (isRtcp) bad.sendRtcp(Buffer.from([0x81, 192 + type, 0, body.length % 50, 0, 0, 0, 1, ...body]));
          // An alert would close the session.
          else if (type !== 21) bad.send(bad.sealRecord(type, Buffer.from([type, ...body])));
        }
        const { viewer: other, leave } = await join();
        await other.until("a picture for another viewer", () => other.pictures.length > 0);
        leaveBad();
        leave();
        assert.deepEqual(ports.faults, []);
      }),
      { numRuns: VIEWERS, seed: SEED, endOnFailure: true },
    );
  } finally {
    await whep.closeAll();
  }
});
