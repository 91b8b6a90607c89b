import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  advance,
  begin,
  END_OF_STREAM,
  FIRST_DELAY_MS,
  JITTER,
  KEYFRAME_MS,
  LONGEST_DELAY_MS,
  type Order,
  type ReconnectLimits,
  type ReconnectState,
  SETTLED_MS,
} from "./reconnect.ts";

const LIMITS: ReconnectLimits = { connectMs: 5000, stallMs: 3000, giveUpMs: 300_000 };
const TICK_MS = 100;

/** Behaviour of the camera for a while: `frames` sends, `silent` connects and sends nothing, `dead` rejects. */
type Spell = { readonly camera: "frames" | "no-key-frame" | "silent" | "dead"; readonly forMs: number };
type Link = { lastMs: number; flowing: boolean };
type Timed = Order & { readonly nowMs: number };

/** Plays a camera against the state machine, polled every tick, and returns all orders. */
function play(spells: readonly Spell[], limits = LIMITS, random = (): number => 0.5): readonly Timed[] {
  const orders: Timed[] = [];
  const links: Link[] = [];
  let nowMs = 0;
  const follow = (next: { state: ReconnectState; orders: readonly Order[] }): ReconnectState => {
    for (const order of next.orders) {
      orders.push({ ...order, nowMs });
      if (order.do === "connect") assert.equal(links.push({ lastMs: nowMs, flowing: false }), 1, "connected twice");
      if (order.do === "disconnect") assert.ok(links.pop(), "disconnected without a connection");
    }
    return next.state;
  };
  let state = follow(begin(nowMs));
  for (const { camera, forMs } of spells) {
    for (const endMs = nowMs + forMs; nowMs < endMs; ) {
      nowMs += TICK_MS;
      const link = links[0];
      if (link !== undefined && (camera === "frames" || camera === "no-key-frame")) {
        link.lastMs = nowMs;
        link.flowing ||= camera === "frames";
      }
      const ended = link !== undefined && camera === "dead" ? "refused" : null;
      const seen = { nowMs, flowing: link?.flowing ?? false, idleMs: nowMs - (link?.lastMs ?? nowMs), ended };
      state = follow(advance(state, seen, limits, random));
    }
  }
  return orders;
}

const announced = (orders: readonly Timed[]): readonly string[] =>
  orders.flatMap((order) => (order.do === "announce" ? [order.state] : order.do === "fail" ? ["failed"] : []));
const waits = (orders: readonly Timed[]): readonly number[] =>
  orders.flatMap((order) => (order.do === "announce" && order.state === "waiting" ? [order.retryInMs ?? -1] : []));

test("starts a looped file again at its end, without a loss, and retries one that is over at once", () => {
  const limits = { ...LIMITS, loops: true };
  const ended = { flowing: true, idleMs: 0, ended: END_OF_STREAM };
  const live: ReconnectState = { phase: "live", sinceMs: 0, attempt: 1, outage: null };
  const next = advance(live, { nowMs: 5000, ...ended }, limits, () => 0.5);
  assert.deepEqual([next.state.phase, next.orders.map((order) => order.do)], ["connecting", ["disconnect", "connect"]]);
  assert.equal(advance(live, { nowMs: 10, ...ended }, limits, () => 0.5).state.phase, "waiting");
  assert.equal(advance(live, { nowMs: 5000, ...ended }, LIMITS, () => 0.5).state.phase, "waiting");
});

for (const [behaviour, spells, expected] of [
  ["a camera that sends is live", [{ camera: "frames", forMs: 20_000 }], ["connecting", "live"]],
  ["a camera that refuses at first fails at once", [{ camera: "dead", forMs: 10_000 }], ["connecting", "failed"]],
  ["a camera that is silent at first fails", [{ camera: "silent", forMs: 10_000 }], ["connecting", "failed"]],
  [
    "a camera that fails and returns is live again",
    [
      { camera: "frames", forMs: 1000 },
      { camera: "dead", forMs: 100 },
      { camera: "frames", forMs: 1000 },
    ],
    ["connecting", "live", "lost", "waiting", "connecting", "live"],
  ],
  [
    "a pause shorter than the limit is not a loss",
    [
      { camera: "frames", forMs: 1000 },
      { camera: "silent", forMs: 2900 },
      { camera: "frames", forMs: 1000 },
    ],
    ["connecting", "live"],
  ],
  [
    "a frozen camera is lost",
    [
      { camera: "frames", forMs: 1000 },
      { camera: "silent", forMs: 3100 },
    ],
    ["connecting", "live", "lost", "waiting"],
  ],
  [
    "tolerates a long wait for the first keyframe while data arrives",
    [
      { camera: "no-key-frame", forMs: 12_000 },
      { camera: "frames", forMs: 1000 },
    ],
    ["connecting", "live"],
  ],
  [
    "a camera without keyframes fails",
    [{ camera: "no-key-frame", forMs: LIMITS.connectMs + KEYFRAME_MS + 100 }],
    ["connecting", "failed"],
  ],
] as const satisfies readonly (readonly [string, readonly Spell[], readonly string[]])[]) {
  test(behaviour, () => assert.deepEqual(announced(play(spells)), expected));
}

test("announces a loss once, and counts attempts per outage", () => {
  const orders = play([
    { camera: "frames", forMs: 1000 },
    { camera: "dead", forMs: 3000 },
    { camera: "frames", forMs: 5000 },
    { camera: "dead", forMs: 100 },
    { camera: "frames", forMs: 10_000 },
  ]);
  const announcedStates = orders.flatMap((order) =>
    order.do === "announce" ? [`${order.state} ${order.attempt}`] : [],
  );
  const lost = announcedStates.flatMap((line, index) => (line.startsWith("lost") ? [index] : []));
  assert.equal(lost.length, 2);
  assert.ok(announcedStates.indexOf("connecting 3") < (lost[1] ?? 0), "the first outage took several attempts");
  assert.deepEqual(announcedStates.slice((lost[1] ?? 0) + 1), ["waiting 1", "connecting 2", "live 2"]);
});

test("delays double from the first to the longest", () => {
  const orders = play([
    { camera: "frames", forMs: 1000 },
    { camera: "dead", forMs: 30_000 },
  ]);
  assert.deepEqual(waits(orders).slice(0, 6), [500, 1000, 2000, 4000, 5000, 5000]);
});

test("a steady connection resets the delay, a flapping one does not", () => {
  const flap = (heldMs: number): readonly number[] =>
    waits(
      play([
        { camera: "frames", forMs: 1000 },
        { camera: "dead", forMs: 1000 },
        { camera: "frames", forMs: heldMs },
        { camera: "dead", forMs: 100 },
      ]),
    );
  assert.equal(flap(SETTLED_MS + 2000).at(-1), FIRST_DELAY_MS);
  assert.ok((flap(2000).at(-1) ?? 0) > FIRST_DELAY_MS);
});

test("giving up reports duration and reason", () => {
  const orders = play(
    [
      { camera: "frames", forMs: 1000 },
      { camera: "dead", forMs: 20_000 },
    ],
    { ...LIMITS, giveUpMs: 10_000 },
  );
  const last = orders.at(-1);
  assert.ok(last?.do === "fail");
  assert.match(last.reason, /^no video for 10(\.\d)? s, giving up; last: refused$/);
});

test("with a limit of 0 the first loss fails the graph", () => {
  const orders = play(
    [
      { camera: "frames", forMs: 1000 },
      { camera: "dead", forMs: 100 },
    ],
    { ...LIMITS, giveUpMs: 0 },
  );
  assert.deepEqual(announced(orders), ["connecting", "live", "lost", "failed"]);
});

const NEXT: Readonly<Record<string, readonly string[]>> = {
  connecting: ["live", "waiting", "failed"],
  live: ["lost"],
  lost: ["waiting", "failed"],
  waiting: ["connecting", "failed"],
  failed: [],
};

const spell = fc.record({
  camera: fc.constantFrom<Spell["camera"]>("frames", "no-key-frame", "silent", "dead"),
  forMs: fc.integer({ min: 1, max: 200 }).map((ticks) => ticks * TICK_MS),
});
const history = fc.tuple(
  fc.array(spell, { maxLength: 12 }),
  fc.integer({ min: 0, max: 40_000 }),
  fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
);

function forAnyHistory(check: (orders: readonly Timed[], limits: ReconnectLimits) => void): void {
  fc.assert(
    fc.property(history, ([spells, giveUpMs, chances]) => {
      const limits = { ...LIMITS, giveUpMs };
      check(
        play(spells, limits, () => chances.next().value ?? 0),
        limits,
      );
    }),
    { numRuns: 300 },
  );
}

test("for any camera, states follow in order and nothing comes after the end", () => {
  forAnyHistory((orders) => {
    const states = announced(orders);
    for (const [index, state] of states.slice(1).entries())
      assert.ok(NEXT[states[index] ?? ""]?.includes(state), `${states[index]} → ${state}`);
    const end = orders.findIndex((order) => order.do === "fail");
    assert.ok(end === -1 || end === orders.length - 1);
  });
});

test("for any camera, connects and disconnects alternate", () => {
  forAnyHistory((orders) => {
    const links = orders.filter((order) => order.do === "connect" || order.do === "disconnect");
    for (const [index, link] of links.entries()) assert.equal(link.do, index % 2 === 0 ? "connect" : "disconnect");
    if (orders.at(-1)?.do === "fail") assert.ok(links.length === 0 || links.at(-1)?.do === "disconnect");
  });
});

test("for any camera, retries respect the shortest and the longest delay", () => {
  forAnyHistory((orders, { giveUpMs }) => {
    for (const [index, waiting] of orders.entries()) {
      if (waiting.do !== "announce" || waiting.state !== "waiting") continue;
      const delayMs = waiting.retryInMs ?? Number.NaN;
      assert.ok(delayMs > 0 && delayMs <= LONGEST_DELAY_MS * (1 + JITTER));
      const next = orders[index + 1];
      if (next === undefined) continue;
      assert.ok(next.nowMs - waiting.nowMs < delayMs + TICK_MS);
      if (next.do === "announce") assert.ok(delayMs >= FIRST_DELAY_MS * (1 - JITTER) || delayMs <= giveUpMs);
    }
  });
});

test("for any camera, an outage ends within its limit, live or failed", () => {
  forAnyHistory((orders, limits) => {
    let lostMs: number | null = null;
    for (const order of orders) {
      if (order.do === "announce" && order.state === "live") lostMs = null;
      if (order.do === "announce" && order.state === "lost") lostMs ??= order.nowMs;
      if (lostMs !== null) assert.ok(order.nowMs - lostMs <= limits.giveUpMs + TICK_MS);
    }
  });
});
