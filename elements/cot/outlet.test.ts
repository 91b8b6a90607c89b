import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Watch } from "../../test/watch.fixture.ts";
import { EventOutlet, type Link } from "./outlet.ts";

type Done = (error: Error | null) => void;

/** An outlet with a connection that the test opens, closes and acknowledges for. */
function stand(answer: ((done: Done) => void) | null = (done) => done(null)) {
  const watch = new Watch();
  const taken: string[] = [];
  const statuses: string[] = [];
  let opened = 0;
  let lose = (_reason: string): void => {};
  const state = { isThere: true, answer };
  const open = async (): Promise<Link> => {
    opened++;
    if (!state.isThere) throw new Error("unreachable");
    const closed = new Promise<string>((resolve) => {
      lose = resolve;
    });
    return {
      closed,
      send({ payload }, done) {
        taken.push(String(payload));
        state.answer?.(done);
        watch.check();
      },
      close: async () => lose("closed"),
    };
  };
  const limits = { firstWaitMs: 1, maxWaitMs: 4, closeMs: 50, maxQueued: 5, maxPending: 2, maxQueuedBytes: 100 };
  const outlet = new EventOutlet(
    open,
    () => {
      statuses.push(`${outlet.status} ${outlet.detail}`);
      watch.check();
    },
    limits,
  );
  after(() => outlet.close());
  const send = (...events: readonly string[]) => {
    for (const event of events) outlet.send({ topic: "", payload: Buffer.from(event) });
  };
  const until = (what: string, holds: () => boolean) => watch.until(what, holds);
  return { outlet, send, taken, statuses, state, until, lose: (reason: string) => lose(reason), opened: () => opened };
}

test("sends events in order, those queued before the connection first", async () => {
  const { outlet, send, taken, until } = stand();
  send("a", "b");
  await until("both", () => taken.length === 2);
  send("c");
  assert.deepEqual([taken, outlet.eventsSent, outlet.eventsDropped], [["a", "b", "c"], 3, 0]);
});

test("drops and counts the oldest events when the queue is full", async () => {
  const { outlet, send, taken, until } = stand();
  send("a", "b", "c", "d", "e", "f", "g");
  assert.equal(outlet.eventsDropped, 2);
  await until("the rest", () => taken.length === 5);
  assert.deepEqual(taken, ["c", "d", "e", "f", "g"]);
});

test("drops and counts the oldest events when they are too large", async () => {
  const { outlet, send, taken, until } = stand();
  const [large, larger] = ["x".repeat(60), "y".repeat(90)];
  send("a", large, "b", larger, "c");
  assert.equal(outlet.eventsDropped, 2);
  await until("the rest", () => taken.length === 3);
  assert.deepEqual(taken, ["b", larger, "c"]);
  send(large, "d");
  await until("all", () => taken.length === 5);
  assert.equal(outlet.eventsDropped, 2);
});

test("resends unacknowledged events after a reconnect, before the rest", async () => {
  const { send, taken, state, until, lose, outlet } = stand(null);
  send("a", "b", "c");
  await until("the limit of pending events", () => taken.length === 2);
  state.answer = (done) => done(null);
  lose("the cable");
  await until("all", () => taken.length === 5);
  assert.deepEqual(taken, ["a", "b", "a", "b", "c"]);
  assert.deepEqual([outlet.eventsSent, outlet.eventsDropped, outlet.status], [3, 0, "live"]);
});

test("drops and reports a rejected event; the next accepted event clears the status", async () => {
  const { outlet, send, state, statuses, until } = stand((done) => done(new Error("rejected")));
  send("a");
  await until("the reason", () => outlet.detail === "rejected");
  assert.deepEqual([outlet.status, outlet.eventsDropped], ["retrying", 1]);
  state.answer = (done) => done(null);
  send("b");
  assert.deepEqual([outlet.status, outlet.detail, outlet.eventsSent], ["live", null, 1]);
  assert.deepEqual(statuses, ["live null", "retrying rejected", "live null"]);
});

test("retries until connected, and reports the reason once", async () => {
  const { state, statuses, until, opened, lose, outlet } = stand();
  await until("live", () => outlet.status === "live");
  state.isThere = false;
  lose("unreachable");
  await until("retrying", () => outlet.status === "retrying");
  while (opened() < 4) await new Promise((resolve) => setImmediate(resolve));
  state.isThere = true;
  await until("live again", () => outlet.status === "live");
  assert.deepEqual(statuses, ["live null", "retrying unreachable", "live null"]);
});

test("close sends queued events, but does not wait for a stuck connection", async () => {
  const quick = stand();
  quick.send("a");
  await quick.outlet.close();
  assert.deepEqual([quick.taken, quick.outlet.eventsSent], [["a"], 1]);
  const stuck = stand(null);
  stuck.send("a", "b", "c");
  await stuck.outlet.close();
  assert.deepEqual([stuck.outlet.eventsSent, stuck.outlet.eventsDropped], [0, 3]);
});
