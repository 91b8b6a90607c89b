import assert from "node:assert/strict";
import { test } from "node:test";
import { fit, fractionOf, panBy, showTime, ticksOf, timeAt, zoomAt } from "./axis.ts";

const HOUR = 3_600_000;
const DAY = { fromMs: 0, toMs: 24 * HOUR };

test("zooming keeps the time below the pointer, and stays within the day", () => {
  const view = zoomAt(DAY, DAY, 6 * HOUR, 0.5);
  assert.equal(view.toMs - view.fromMs, 12 * HOUR);
  assert.equal(fractionOf(view, 6 * HOUR), 0.25);
  assert.deepEqual(zoomAt(view, DAY, 6 * HOUR, 100), DAY);
  const closest = zoomAt(DAY, DAY, 1000, 1e-9);
  assert.equal(closest.toMs - closest.fromMs, 10_000);
  assert.ok(closest.fromMs >= 0);
});

test("panning stops at the ends", () => {
  const view = { fromMs: 6 * HOUR, toMs: 12 * HOUR };
  assert.deepEqual(panBy(view, DAY, 0.5), { fromMs: 9 * HOUR, toMs: 15 * HOUR });
  assert.deepEqual(panBy(view, DAY, -9), { fromMs: 0, toMs: 6 * HOUR });
  assert.deepEqual(panBy(view, DAY, 9), { fromMs: 18 * HOUR, toMs: 24 * HOUR });
});

test("a time that is not visible becomes visible", () => {
  const view = { fromMs: 6 * HOUR, toMs: 8 * HOUR };
  assert.equal(showTime(view, DAY, 7 * HOUR), view);
  assert.deepEqual(showTime(view, DAY, 20 * HOUR), { fromMs: 19 * HOUR, toMs: 21 * HOUR });
  assert.equal(timeAt(view, 0.5), 7 * HOUR);
});

test("ticks are round times of the time zone", () => {
  assert.deepEqual(
    ticksOf(DAY, 8).map((ms) => ms / HOUR),
    [0, 3, 6, 9, 12, 15, 18, 21],
  );
  assert.deepEqual(
    ticksOf({ fromMs: 0, toMs: HOUR }, 6, 5.75 * HOUR).map((ms) => ms / 60_000),
    [5, 15, 25, 35, 45, 55],
  );
  assert.ok(ticksOf({ fromMs: 0, toMs: 90 * 24 * HOUR }, 1).length <= 90);
});

test("shows at first where something is", () => {
  assert.deepEqual(fit({ fromMs: 0, toMs: 20 * HOUR }, DAY), DAY);
  const short = fit({ fromMs: 12 * HOUR, toMs: 12 * HOUR + 20_000 }, DAY);
  assert.equal(short.toMs - short.fromMs, 5 * 60_000);
  assert.ok(fractionOf(short, 12 * HOUR) > 0.4 && fractionOf(short, 12 * HOUR) < 0.5);
});
