import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlertEvent, AlertRule } from "../../schemas/alerts.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { Opening, type Schedule } from "../../schemas/schedule.ts";
import { tracks } from "../marks.fixture.ts";
import { AlertsHandler } from "./handler.ts";
import { brief, evaluatorOf, faultsOf, START_MS, sceneAt, seenAt } from "./scene.fixture.ts";
import { ScheduledEvaluator } from "./scheduled.ts";

/** 2023-11-14 at 22:13:20 UTC: a Tuesday. */
const START = new Date(START_MS);
const MINUTE_MS = 60_000;

/** Open for one minute that begins at 22:15. */
const SCHEDULE: Schedule = { time_zone: "UTC", windows: [{ days: ["tue"], from: "22:15", to: "22:16" }] };
const OPEN_MS = Date.parse("2023-11-14T22:15:00Z") - START_MS;

function scheduled(type: string, parts: Omit<AlertRule, "alert" | "type">) {
  const evaluator = new ScheduledEvaluator(evaluatorOf(type, parts));
  evaluator.opening = new Opening(SCHEDULE);
  return evaluator;
}

test("is not evaluated before its window, and reports what is there when it opens", () => {
  assert.equal(START.toISOString(), "2023-11-14T22:13:20.000Z");
  const evaluator = scheduled("filter-search", { trigger: { for_seconds: 2 } });
  const seen = (ms: number) => brief(evaluator.see(sceneAt(ms, [seenAt(1, 0.5, 0.5)])));
  assert.deepEqual([seen(0), seen(10_000), seen(OPEN_MS - 1)], [[], [], []]);
  // The time before the opening does not count.
  assert.deepEqual(seen(OPEN_MS), []);
  assert.deepEqual(seen(OPEN_MS + 2000), ["triggered 1"]);
  assert.deepEqual(seen(OPEN_MS + 3000), []);
});

test("clears at the end of its window what is triggered, once", () => {
  const crowd = [1, 2, 3].map((id) => seenAt(id, 0.5, 0.5));
  const rules = {
    "grid-density": { trigger: { count: 3, for_seconds: 0 }, parameters: { rows: 1, columns: 1 } },
    "follow-track": { parameters: { select: "first" } },
  };
  for (const [type, parts] of Object.entries(rules)) {
    const evaluator = scheduled(type, parts);
    const seen = (ms: number) => brief(evaluator.see(sceneAt(ms, crowd))).map((text) => text.split(" ")[0]);
    assert.deepEqual(seen(OPEN_MS), ["triggered"], type);
    assert.deepEqual(seen(OPEN_MS + MINUTE_MS), ["cleared"], type);
    assert.deepEqual(seen(OPEN_MS + MINUTE_MS + 100), [], type);
    // The next week begins afresh.
    assert.deepEqual(seen(OPEN_MS + 7 * 24 * 60 * MINUTE_MS), ["triggered"], type);
  }
});

test("a track that has left the picture is cleared with the window", () => {
  const evaluator = scheduled("follow-track", { parameters: { lost_after_seconds: 600 } });
  assert.deepEqual(brief(evaluator.see(sceneAt(OPEN_MS, [seenAt(7, 0.5, 0.5)]))), ["triggered 7"]);
  assert.deepEqual(brief(evaluator.see(sceneAt(OPEN_MS + 30_000, []))), []);
  assert.deepEqual(brief(evaluator.see(sceneAt(OPEN_MS + MINUTE_MS, []))), ["cleared 7"]);
});

test("a changed schedule keeps the state of the rule, and an invalid rule changes nothing", async () => {
  const sent: string[] = [];
  const services = {
    send: async (_: string, event: JsonRecord) => void sent.push((event as unknown as AlertEvent).event),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  };
  const rule: AlertRule = { alert: "a", type: "filter-search", schedule: SCHEDULE };
  const handler = new AlertsHandler({ rules: [rule] }, services);
  const show = (ms: number) =>
    handler.process({
      captureNs: BigInt(START_MS + ms) * 1_000_000n,
      inputSize: { width: 64, height: 48 },
      format: { caps: "", mediaType: "video/x-raw", pixels: "I420", fps: 25, width: 64, height: 48 },
      signal: new AbortController().signal,
      image: async () => new Uint8Array(9),
      meta: { tracks: tracks([seenAt(1, 0.5, 0.5).track]) },
    });
  await show(0);
  assert.deepEqual(sent, []);
  const wrong = { ...rule, alert: "b", schedule: { ...SCHEDULE, time_zone: "Europe/Berln" } };
  assert.throws(
    () => handler.update({ rules: [{ alert: "a", type: "filter-search" }, wrong] }),
    /schedule\/time_zone .*did you mean "Europe\/Berlin"/,
  );
  await show(100);
  assert.deepEqual(sent, []);
  await show(OPEN_MS);
  assert.deepEqual(sent, ["triggered"]);
  handler.update({ rules: [{ alert: "a", type: "filter-search" }] });
  await show(OPEN_MS + 2 * MINUTE_MS);
  assert.deepEqual(sent, ["triggered"]);
});

test("a rule reports the faults of its schedule", () => {
  const schedule = { time_zone: "UTC", windows: [{ from: "08:00", to: "08:00" }] } as Schedule;
  assert.match(faultsOf("filter-search", { schedule })[0] ?? "", /^\/schedule\/windows\/0\/to is the same as from/);
});
