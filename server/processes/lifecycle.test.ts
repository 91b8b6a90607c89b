import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type Decision,
  type LifecycleEvent,
  type LifecycleState,
  RestartPolicy,
  StateMachine,
  storedState,
  TRANSITIONS,
} from "./lifecycle.ts";

const EVENTS = [
  ...["play", "pause", "wait", "restart", "stop", "halt", "lose", "finish", "fail", "withdraw", "release"],
] as readonly LifecycleEvent[];
const STATES = Object.keys(TRANSITIONS) as readonly LifecycleState[];
const ENDS: readonly LifecycleState[] = ["finished", "failed", "withdrawn", "released"];

/** The table once more, by hand: from each state, the events that are accepted and where they lead. */
const EXPECTED: Readonly<Record<LifecycleState, string>> = {
  starting:
    "play:running pause:paused wait:waiting restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed withdraw:withdrawn",
  restarting:
    "play:running pause:paused wait:waiting restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed",
  waiting:
    "play:running pause:paused wait:waiting restart:waiting stop:stopping halt:halting lose:lost finish:finished fail:failed",
  running:
    "pause:paused wait:waiting restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed",
  paused:
    "play:running wait:waiting restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed",
  stopping: "lose:lost finish:finished withdraw:withdrawn",
  halting: "lose:lost withdraw:withdrawn release:released",
  lost: "withdraw:withdrawn release:released",
  ...{ finished: "", failed: "", withdrawn: "", released: "" },
};

/** The shortest sequence of events that leads to each state. */
function paths(): ReadonlyMap<LifecycleState, readonly LifecycleEvent[]> {
  const found = new Map<LifecycleState, readonly LifecycleEvent[]>([["starting", []]]);
  for (const [state, path] of found)
    for (const event of EVENTS) {
      const next = TRANSITIONS[state][event];
      if (next !== undefined && !found.has(next)) found.set(next, [...path, event]);
    }
  return found;
}

test("every state is reachable, and every event in it is a listed transition or is rejected", () => {
  const reachable = paths();
  assert.deepEqual([...reachable.keys()].sort(), [...STATES].sort());
  for (const [state, path] of reachable) {
    const accepted = EVENTS.flatMap((event) => {
      const machine = new StateMachine("starting");
      for (const step of path) assert.ok(machine.apply(step));
      assert.equal(machine.state, state);
      const isAccepted = machine.accepts(event);
      assert.equal(machine.apply(event), isAccepted);
      if (!isAccepted) assert.equal(machine.state, state);
      return isAccepted ? [`${event}:${machine.state}`] : [];
    });
    assert.equal(accepted.join(" "), EXPECTED[state], state);
  }
});

test("any sequence of events keeps to the table and notifies of every accepted one", () => {
  const first = fc.constantFrom("starting" as const, "restarting" as const);
  fc.assert(
    fc.property(first, fc.array(fc.constantFrom(...EVENTS), { maxLength: 40 }), (initial, events) => {
      const seen: string[] = [];
      const machine = new StateMachine(initial, (from, to) => seen.push(`${from} ${to}`));
      let wasWanted = true;
      for (const event of events) {
        const from = machine.state;
        const to = TRANSITIONS[from][event];
        assert.equal(machine.apply(event), to !== undefined);
        assert.equal(machine.state, to ?? from);
        if (to !== undefined) assert.equal(seen.pop(), `${from} ${to}`);
        // Once it is to end, it never runs again; once it has ended, nothing changes it.
        assert.ok(wasWanted || !machine.isWanted);
        wasWanted = machine.isWanted;
        if (ENDS.includes(from)) assert.equal(machine.state, from);
      }
      assert.deepEqual(seen, []);
    }),
  );
});

test("a process that is wanted can be stopped, halted and lost; no other state accepts a stop", () => {
  for (const state of STATES) {
    const events = Object.keys(TRANSITIONS[state]);
    assert.equal(events.includes("stop"), ["starting", "restarting", "waiting", "running", "paused"].includes(state));
    if (events.includes("stop")) assert.ok(events.includes("halt") && events.includes("lose"));
  }
});

test("releasing a process leaves its stored state as it was", () => {
  for (const state of STATES)
    assert.equal(storedState(state) === null, ["halting", "lost", "released"].includes(state), state);
});

const RULE = { restarts: 2, windowMs: 10_000, firstMs: 100, maxMs: 1000 };
const at = (nowMs: number, more = {}) => ({ isFile: false, hasFlowed: true, nowMs, random: 1, ...more });
const crash = { kind: "crash", detail: "SIGSEGV" } as const;
const gone = { kind: "source", detail: "refused" } as const;
const codeOf = (decision: Decision) => ("event" in decision ? (decision.error?.code ?? decision.event) : "restart");

test("finishes after an end of stream or a stop, fails when the graph does not compile", () => {
  const policy = new RestartPolicy(RULE, 1000);
  const ends = [{ kind: "finished" }, { kind: "stopped" }, { kind: "graph", detail: "" }] as const;
  assert.deepEqual(
    ends.map((end) => codeOf(policy.decide(end, at(0)))),
    ["finish", "finish", "pipeline_failed"],
  );
});

test("restarts at once after the first crash, then with growing delays, until there were too many", () => {
  const policy = new RestartPolicy(RULE, 1000);
  assert.deepEqual(policy.decide(crash, at(0)), { waitMs: 0, isCrash: true });
  assert.deepEqual(policy.decide(crash, at(1)), { waitMs: 100, isCrash: true });
  const last = policy.decide(crash, at(2));
  assert.ok("event" in last && last.error !== null);
  assert.equal(last.event, "fail");
  assert.match(last.error.detail, /more than 2 times within 10 s.*SIGSEGV/);
});

test("restarts after occasional crashes forever", () => {
  const policy = new RestartPolicy(RULE, 1000);
  for (let i = 0; i < 50; i++) assert.equal(codeOf(policy.decide(crash, at(i * 6000))), "restart");
});

test("retries a live source that a new runner cannot reach until the time is over, without counting a crash", () => {
  const policy = new RestartPolicy(RULE, 1000);
  assert.deepEqual(policy.decide(gone, at(0, { hasFlowed: false })), { waitMs: 100, isCrash: false });
  assert.deepEqual(policy.decide(gone, at(500, { hasFlowed: false })), { waitMs: 200, isCrash: false });
  assert.equal(policy.sourceWaitMs(600), 400);
  assert.equal(codeOf(policy.decide(gone, at(1000, { hasFlowed: false }))), "source_not_live");
});

test("the time for a lost source starts over with the first frame", () => {
  const policy = new RestartPolicy(RULE, 1000);
  policy.decide(gone, at(0, { hasFlowed: false }));
  policy.noteFlowing();
  assert.equal(codeOf(policy.decide(gone, at(5000, { hasFlowed: false }))), "restart");
});

test("fails when a runner gives up a source that it had, or cannot read a file", () => {
  const policy = new RestartPolicy(RULE, 1000);
  assert.equal(codeOf(policy.decide(gone, at(0))), "source_not_live");
  assert.equal(codeOf(policy.decide(gone, at(0, { isFile: true, hasFlowed: false }))), "pipeline_failed");
});

test("waits twice as long after each crash but the first, up to the maximum, and allows no more restarts than the rule", () => {
  const policy = new RestartPolicy({ restarts: 8, windowMs: 300_000, firstMs: 500, maxMs: 30_000 }, 1000);
  const waits = Array.from({ length: 9 }, (_, nowMs) => {
    const decision = policy.decide(crash, at(nowMs));
    return "waitMs" in decision ? decision.waitMs : codeOf(decision);
  });
  assert.deepEqual(waits, [0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, "pipeline_failed"]);
});

test("forgets crashes that are older than the window", () => {
  const policy = new RestartPolicy({ ...RULE, restarts: 5 }, 1000);
  for (const nowMs of [0, 10, 20, 30, 40]) policy.decide(crash, at(nowMs));
  assert.deepEqual(policy.decide(crash, at(10_050)), { waitMs: 0, isCrash: true });
});

test("never restarts when no restart is allowed", () => {
  assert.equal(codeOf(new RestartPolicy({ ...RULE, restarts: 0 }, 1000).decide(crash, at(5))), "pipeline_failed");
});

test("keeps every delay but the first between half of the first and the maximum", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 100 }), (randoms) => {
      const policy = new RestartPolicy({ ...RULE, restarts: 1000 }, 1000);
      policy.decide(crash, at(0));
      for (const random of randoms) {
        const decision = policy.decide(crash, at(0, { random }));
        assert.ok("waitMs" in decision && decision.waitMs >= RULE.firstMs / 2 && decision.waitMs <= RULE.maxMs);
      }
    }),
  );
});
