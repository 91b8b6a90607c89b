import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AlertFinding } from "../../schemas/alerts.ts";
import { ReplayedSubscription } from "../../server/webhooks/gather/replayed-subscription.ts";
import { START_MS, walk } from "./replay.fixture.ts";
import { VirtualTime } from "./replay.ts";
import type { Sending } from "./sending.ts";

const messages = walk();
const finding = (index: number): AlertFinding => ({
  ...{ alert: "a", type: "t", timeMs: START_MS + index * 100, event: "triggered", tracks: [], data: {} },
});
const findings = [0, 7, 7, 30, 52, 99].map(finding);

/** Findings may arrive any time before their messages. */
function play(aheads: readonly number[]): readonly Sending[] {
  const gathering = new ReplayedSubscription({ eventType: "new-tracks", format: "simple", backoffMs: 5000 });
  const noticing = { notice: ({ timeMs }: AlertFinding) => ({ row: 0, body: { timeMs } }) };
  const time = new VirtualTime(noticing, [{ row: 1, subscription: gathering }]);
  const sent: Sending[] = [];
  const waiting = [...findings];
  for (const [index, message] of messages.entries()) {
    const untilMs = START_MS + (index + (aheads[index % aheads.length] ?? 0)) * 100;
    while ((waiting[0]?.timeMs ?? Number.POSITIVE_INFINITY) <= untilMs) time.find(waiting.shift() ?? assert.fail());
    sent.push(...time.see(message));
  }
  return [...sent, ...time.end()];
}

test("what is sent has the same order however far findings are ahead of messages", () => {
  const wanted = play([0]);
  assert.deepEqual(
    wanted.map(({ timeMs, row }) => [(timeMs - START_MS) / 1000, row]),
    [
      [0, 0],
      [0, 1],
      [0.7, 0],
      [0.7, 0],
      [3, 0],
      [5, 1],
      [5.2, 0],
      [9.9, 0],
    ],
  );
  fc.assert(
    fc.property(fc.array(fc.nat(60), { minLength: 1, maxLength: 100 }), (aheads) => {
      assert.deepEqual(play(aheads), wanted);
    }),
    { numRuns: 50 },
  );
});
