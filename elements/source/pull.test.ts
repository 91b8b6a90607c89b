import assert from "node:assert/strict";
import { test } from "node:test";
import type { ElementEvent, Expansion, Ingest } from "../element.ts";
import { explainReason, type PullOptions, pullLive } from "./pull.ts";

const SOURCE = {
  kind: "live",
  protocol: "rtsp",
  url: "rtsp://me:secret@cam/1",
  display: "rtsp://***@cam/1",
} as const;
const OPTIONS: PullOptions = { transport: "tcp", latencyMs: 200, connectMs: 5000, stallMs: 3000, giveUpSeconds: 300 };

interface FakeIngest extends Ingest {
  flowing: boolean;
  idle: number;
  closed: boolean;
  end(error: Error | null): void;
}

function makeIngest(closing: Promise<void>): FakeIngest {
  let end = (_: Error | null): void => {};
  const ended = new Promise<Error | null>((resolve) => {
    end = resolve;
  });
  return {
    flowing: false,
    idle: 0,
    closed: false,
    idleMs() {
      return this.idle;
    },
    ended,
    end,
    async close() {
      this.closed = true;
      await closing;
    },
  };
}

/** A world with a manual clock. */
function start(start: (index: number) => Promise<void> = () => Promise.resolve(), closing = Promise.resolve()) {
  const ingests: FakeIngest[] = [];
  const expansions: Expansion[] = [];
  const events: ElementEvent[] = [];
  const failures: Error[] = [];
  let nowMs = 0;
  let tick: (() => void) | null = null;
  const driver = pullLive(
    SOURCE,
    OPTIONS,
    {
      async ingest(expansion) {
        expansions.push(expansion);
        await start(expansions.length - 1);
        const ingest = makeIngest(closing);
        ingests.push(ingest);
        return ingest;
      },
      emit: (event) => events.push(event),
      fail: (error) => failures.push(error),
      deliver() {},
      isHeard: () => false,
      log: { debug() {}, info() {}, warn() {}, error() {} },
    },
    {
      nowMs: () => nowMs,
      random: () => 0.5,
      repeat(callback) {
        tick = callback;
        return () => {
          tick = null;
        };
      },
    },
  );
  return {
    driver,
    ingests,
    expansions,
    events,
    failures,
    isPolling: () => tick !== null,
    async pass(ms: number) {
      nowMs += ms;
      tick?.();
      await settle();
    },
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const states = (events: readonly ElementEvent[]) => events.map(({ state }) => state);

async function startLive(...input: Parameters<typeof start>) {
  const world = start(...input);
  await settle();
  const first = world.ingests[0] ?? assert.fail("not connected");
  first.flowing = true;
  await world.pass(100);
  return { ...world, first };
}

test("closes a lost connection and reconnects after the delay", async () => {
  const { first, pass, ingests, events, failures, driver } = await startLive();
  first.end(new Error("lost rtsp://me:secret@cam/1"));
  await settle();
  assert.equal(first.closed, true);
  assert.deepEqual(events.at(-1), {
    type: "source",
    state: "waiting",
    reason: "lost rtsp://***@cam/1",
    attempt: 1,
    retry_in_ms: 500,
  });
  await pass(499);
  assert.equal(ingests.length, 1);
  await pass(1);
  assert.equal(ingests.length, 2);
  Object.assign(ingests[1] ?? {}, { flowing: true });
  await pass(100);
  assert.deepEqual(states(events), ["connecting", "live", "lost", "waiting", "connecting", "live"]);
  assert.deepEqual(failures, []);
  await driver.close();
});

test("a frozen connection counts as lost", async () => {
  const { first, pass, events, driver } = await startLive();
  first.idle = OPTIONS.stallMs;
  await pass(100);
  assert.deepEqual(states(events).slice(-2), ["lost", "waiting"]);
  assert.equal(first.closed, true);
  await driver.close();
});

test("end of stream counts as a loss", async () => {
  const { first, events, driver } = await startLive();
  first.end(null);
  await settle();
  assert.equal(events.at(-1)?.reason, "the stream ended");
  await driver.close();
});

test("fails the graph if the first connection fails, naming the camera without its password", async () => {
  const { failures, isPolling } = start(() => Promise.reject(new Error("Unauthorized at rtsp://me:secret@cam/1")));
  await settle();
  assert.deepEqual(
    failures.map(({ message }) => message),
    ["cannot play rtsp://***@cam/1: wrong or missing user name and password (401)"],
  );
  assert.equal(isPolling(), false);
});

test("fails the graph in time if the first connection never starts, and closes it when it does", async () => {
  let come = (): void => {};
  const coming = new Promise<void>((resolve) => {
    come = resolve;
  });
  const { pass, failures, ingests } = start(() => coming);
  await pass(4999);
  assert.equal(failures.length, 0);
  await pass(1);
  assert.match(failures[0]?.message ?? "", /no data within 5 s/);
  come();
  await settle();
  assert.equal(ingests[0]?.closed, true);
});

test("the next attempt waits until the last one is torn down", async () => {
  let tornDown = (): void => {};
  const closing = new Promise<void>((resolve) => {
    tornDown = resolve;
  });
  const { first, pass, expansions, driver } = await startLive(undefined, closing);
  first.end(null);
  await settle();
  await pass(1000);
  assert.equal(expansions.length, 1);
  tornDown();
  await settle();
  assert.equal(expansions.length, 2);
  await driver.close();
});

test("close tears the connection down and starts no other", async () => {
  const { first, driver, pass, events, isPolling } = await startLive();
  await driver.close();
  assert.equal(first.closed, true);
  assert.equal(isPolling(), false);
  const before = events.length;
  first.end(new Error("late"));
  await pass(10_000);
  assert.equal(events.length, before);
});

test("close also closes a connection that is starting", async () => {
  let come = (): void => {};
  const coming = new Promise<void>((resolve) => {
    come = resolve;
  });
  const { driver, ingests } = start(() => coming);
  await settle();
  let isClosed = false;
  const closed = Promise.resolve(driver.close()).then(() => {
    isClosed = true;
  });
  await settle();
  assert.equal(isClosed, false, "close waits for the starting connection");
  come();
  await closed;
  assert.equal(ingests[0]?.closed, true);
});

const CASES: readonly (readonly [string, RegExp])[] = [
  ["Unauthorized: Unauthorized (401)", /user name and password/],
  ["Not found: Not Found (404)", /path not found/],
  ["Could not open resource for reading and writing.: Failed to connect. (Generic error)", /cannot be reached/],
  [
    "Could not read from resource.: Could not receive message. (Timeout while waiting for server response)",
    /does not answer/,
  ],
  ["Connection refused: Could not connect to 127.0.0.1: Connection refused", /connection refused/],
  ["Failed to connect: Socket I/O timed out", /does not answer/],
  ["Failed to connect: Short read (want 3073 have 0)", /closes the connection at once/],
  ["Failed to connect: Error receiving data: Connection reset by peer", /connection reset by the server/],
  ["Could not read from resource.: Could not receive message. (Received end-of-file)", /closes the connection at once/],
  ["Could not write to resource.: Could not send message. (System error)", /connection reset by the server/],
  ["Could not read from resource.: Could not receive message. (Parse error)", /does not speak RTSP/],
  ["Internal data stream error.: Got EOS before any data", /ended before any video/],
  ["Could not read from resource.: Error on SRT socket: Application-defined rejection reason", /check the stream id/],
  ["Disk on fire.: All of it.", /^Disk on fire: All of it\.$/],
];

for (const [said, expected] of CASES) test(`explains "${said}"`, () => assert.match(explainReason(said), expected));

test("explains that RTMP carries H.264 only where GStreamer cannot read the video, and only there", () => {
  const said = "Internal data stream error.: streaming stopped, reason error (-5)";
  assert.match(explainReason(said, "rtmp"), /must be H\.264; pull H\.265 over RTSP, or publish it/);
  assert.doesNotMatch(explainReason(said, "rtsp"), /H\.26/);
});
