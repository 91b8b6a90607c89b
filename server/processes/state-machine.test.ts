import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type LifecycleEvent, type LifecycleState, StateMachine, storedState, TRANSITIONS } from "./state-machine.ts";

const EVENTS = [
  ...["play", "pause", "restart", "stop", "halt", "lose", "finish", "fail", "withdraw", "release"],
] as readonly LifecycleEvent[];
const STATES = Object.keys(TRANSITIONS) as readonly LifecycleState[];
const ENDS: readonly LifecycleState[] = ["finished", "failed", "withdrawn", "released"];

/** The table once more, by hand: from each state, the events that are accepted and where they lead. */
const EXPECTED: Readonly<Record<LifecycleState, string>> = {
  starting:
    "play:running restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed withdraw:withdrawn",
  restarting:
    "play:running pause:paused restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed",
  running: "pause:paused restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed",
  paused: "play:running restart:restarting stop:stopping halt:halting lose:lost finish:finished fail:failed",
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
    assert.equal(events.includes("stop"), ["starting", "restarting", "running", "paused"].includes(state));
    if (events.includes("stop")) assert.ok(events.includes("halt") && events.includes("lose"));
  }
});

test("releasing a process leaves its stored state as it was", () => {
  for (const state of STATES)
    assert.equal(storedState(state) === null, ["halting", "lost", "released"].includes(state), state);
});
