import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AccessUnit } from "../../media/access-unit.ts";
import { squeeze } from "./squeeze.ts";

const picture = (dtsMs: number, ptsMs = dtsMs): AccessUnit => ({
  kind: "video",
  dtsUs: dtsMs * 1000,
  ptsUs: ptsMs * 1000,
  captureMs: 0,
  isKey: false,
  parts: [],
});

const times = (units: readonly AccessUnit[]) => squeeze(units).map(({ timeUs }) => timeUs / 1000);

test("the last picture keeps its time, those before it are a millisecond apart", () => {
  assert.deepEqual(times([picture(0), picture(40), picture(80), picture(120)]), [117, 118, 119, 120]);
});

test("sound of the past is left out", () => {
  assert.equal(squeeze([picture(0), { ...picture(1), kind: "audio" }]).length, 1);
});

test("a picture that is shown after those to come keeps its time", () => {
  // I P B B P: the B pictures between the last two P are still to come.
  const units = [picture(0, 80), picture(40, 200), picture(80, 120), picture(120, 160), picture(160, 320)];
  assert.deepEqual(times(units), [158, 200, 159, 160, 320]);
});

test("the order of showing stays, none is moved back, and all that is shown before what comes is right before it", () => {
  const gaps = fc.array(fc.integer({ min: 2, max: 100 }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(gaps, fc.array(fc.nat(3), { minLength: 50, maxLength: 50 }), (steps, delays) => {
      let at = 0;
      const units = steps.map((step, i) => {
        at += step;
        return picture(at, at + (delays[i] as number) * 37);
      });
      const squeezed = squeeze(units);
      const shown = (key: (one: (typeof squeezed)[number]) => number) =>
        [...squeezed].sort((a, b) => key(a) - key(b) || a.unit.ptsUs - b.unit.ptsUs).map(({ unit }) => unit.dtsUs);
      assert.deepEqual(
        shown(({ timeUs }) => timeUs),
        shown(({ unit }) => unit.ptsUs),
      );
      const liveUs = at * 1000;
      for (const { unit, timeUs } of squeezed) {
        assert.ok(timeUs >= unit.ptsUs);
        assert.ok(timeUs >= liveUs - units.length * 1000);
      }
    }),
  );
});
