import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { until } from "../../test/watch.fixture.ts";
import {
  clientPorts,
  converse,
  PLAYER_DATAGRAMS,
  playerSession,
  publisherDatagrams,
  publisherSession,
  spoilDatagrams,
  spoiling,
} from "./fuzz.fixture.ts";
import { KEY, openServer } from "./rtsp.fixture.ts";
import { FakeCamera, Talk } from "./talk.fixture.ts";

const RUNS = 150;
const CODEC = fc.constantFrom("h264" as const, "h265" as const);

test("no mutated session crashes the server, leaks resources, or gets a packet without a key", async () => {
  const server = await openServer({ publishers: 200, helloMs: 60_000 });
  const camera = await FakeCamera.open(server.url("owner/live"));
  const shooting = setInterval(() => camera.shoot(3000), 10);
  try {
    await until(() => server.streams.tracks("owner/live") !== null);
    let delivered = 0;
    let wrong = 0;
    const kind = fc.constantFrom("publish", "play", "steal");
    await fc.assert(
      fc.asyncProperty(kind, spoiling, fc.nat(50), CODEC, async (what, spoil, i, codec) => {
        const live = server.url("owner/live", null);
        const session =
          what === "publish"
            ? publisherSession(server.url(`owner/fuzz-${i}`, null), KEY, null, codec)
            : playerSession(live, what === "play" ? KEY : "wrong");
        const answer = await converse(server.port, spoil(session));
        const packets = answer.indexOf(Buffer.from([0x24, 0, 0])) !== -1;
        if (what === "play" && packets) delivered++;
        if (what === "steal" && packets) wrong++;
      }),
      { numRuns: RUNS },
    );
    assert.equal(wrong, 0);
    assert.ok(delivered > 5, `only ${delivered} sessions got as far as packets`);
    assert.deepEqual(server.faults, []);
    await until(() => server.connections.count === 1);
    await until(() => server.streams.list().every(({ path, readers }) => path === "owner/live" && readers === 0));
    assert.equal(await (await Talk.open(server.port)).say("OPTIONS", "*"), "200 OK");
  } finally {
    clearInterval(shooting);
    await camera.publisher.close();
    await server.close();
  }
});

const REPORT_MS = 20;
/** The server looks after its connections more often than this. */
const LINGER_MS = 600;
const AT_ONCE = 25;

test("no spoilt session by UDP, nor any packet to its ports, is more than its own end", async () => {
  let published = 0;
  const events = { published: () => void published++ };
  const server = await openServer({ publishers: 200, helloMs: 60_000 }, events, { reportMs: REPORT_MS });
  const camera = await FakeCamera.open(server.url("owner/live"));
  const shooting = setInterval(() => camera.shoot(3000), 10);
  const one = fc.record({
    isPlayer: fc.boolean(),
    ports: clientPorts,
    // Most sessions stay whole, so that packets get somewhere.
    talk: fc.option(spoiling, { freq: 2 }),
    packets: spoiling,
    codec: CODEC,
  });
  try {
    await until(() => server.streams.tracks("owner/live") !== null);
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (clients) => {
        const talking = clients.map(({ isPlayer, ports, talk, packets, codec }, i) => {
          const url = server.url(isPlayer ? "owner/live" : `owner/fuzz-${i}`, null);
          const session = isPlayer ? playerSession(url, KEY, ports) : publisherSession(url, KEY, [ports, ports], codec);
          const datagrams = spoilDatagrams(packets, isPlayer ? PLAYER_DATAGRAMS : publisherDatagrams(codec));
          return converse(server.port, talk?.(session) ?? session, { datagrams, lingerMs: LINGER_MS });
        });
        await Promise.all(talking);
      }),
      { numRuns: 3, endOnFailure: true },
    );
    assert.deepEqual(server.faults, []);
    assert.ok(published > 1, `only ${published} got as far as pictures`);
    await until(() => server.connections.count === 1);
    assert.equal(await (await Talk.open(server.port)).say("OPTIONS", "*"), "200 OK");
  } finally {
    clearInterval(shooting);
    await camera.publisher.close();
    await server.close();
  }
});
