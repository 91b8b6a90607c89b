import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { testModel } from "./detect.fixture.ts";
import { chooseTiles, listRegions, makeRequest, type Region, readFilter, WHOLE } from "./request.ts";

const model = testModel("unused.onnx", { labels: ["person", "bicycle", "traffic light"] });
const OF_CARD = { confidence: null, weak: null, overlap: null, classes: [] };

test("null uses the model card, numbers override it", () => {
  assert.deepEqual(readFilter(OF_CARD, model), {
    confidence: 0.4,
    weak: 0.1,
    overlap: 0.5,
    minimum: 0.1,
    classIds: null,
  });
  const { confidence, minimum, overlap } = readFilter({ ...OF_CARD, confidence: 0, overlap: 0 }, model);
  assert.deepEqual([confidence, minimum, overlap], [0, 0, 0]);
});

test("finds classes by name", () => {
  assert.deepEqual(readFilter({ ...OF_CARD, classes: ["traffic light", "person"] }, model).classIds, new Set([2, 0]));
});

test("rejects an unknown class with the nearest name and the list of classes", () => {
  assert.throws(
    () => readFilter({ ...OF_CARD, classes: ["person", "bycicle"] }, model),
    /the model test has no class "bycicle"; did you mean "bicycle"\?\n {2}its classes: person, bicycle, traffic light/,
  );
});

const near = (a: number, b: number) => Math.abs(a - b) < 1e-9;

test("without tiles there is one region, by default the whole frame", () => {
  const roi = { x: 0.25, y: 0.5, width: 0.5, height: 0.5 };
  assert.deepEqual(listRegions(null, null), [WHOLE]);
  assert.deepEqual(listRegions(roi, null), [roi]);
});

test("tiles have equal size, cover the region to its edges and overlap as requested", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 0.9, noNaN: true }),
      (columns, rows, overlap) => {
        const roi = { x: 0.1, y: 0.2, width: 0.6, height: 0.7 };
        const tiles = listRegions(roi, { columns, rows, overlap, whole: false });
        assert.equal(tiles.length, columns * rows);
        const [first, second] = tiles as [Region, Region | undefined];
        const last = tiles.at(-1) ?? first;
        assert.ok(near(first.x, roi.x) && near(first.y, roi.y));
        assert.ok(near(last.x + last.width, roi.x + roi.width) && near(last.y + last.height, roi.y + roi.height));
        for (const tile of tiles) assert.ok(near(tile.width, first.width) && near(tile.height, first.height));
        if (columns > 1 && second !== undefined)
          assert.ok(near(first.x + first.width - second.x, overlap * first.width));
      },
    ),
  );
});

test("the whole frame comes last, and not twice if it is the only tile", () => {
  const two = listRegions(null, { columns: 2, rows: 1, overlap: 0, whole: true });
  assert.deepEqual(two, [{ ...WHOLE, width: 0.5 }, { ...WHOLE, x: 0.5, width: 0.5 }, WHOLE]);
  assert.deepEqual(listRegions(null, { columns: 1, rows: 1, overlap: 0.2, whole: true }), [WHOLE]);
});

test("rejects a region beyond the frame with its numbers", () => {
  assert.throws(
    () => listRegions({ x: 0.5, y: 0, width: 0.75, height: 1 }, null),
    /roi reaches beyond the frame: x \+ width is 1\.25, y \+ height is 1; .* at most 1/,
  );
});

test("by default tiles overlap by a fifth, and the whole frame is included", () => {
  assert.deepEqual(
    listRegions(null, { columns: 2, rows: 1 }),
    listRegions(null, { columns: 2, rows: 1, overlap: 0.2, whole: true }),
  );
});

test("moving tiles are about twice as large as the input of the model", () => {
  const input = { width: 320, height: 320 };
  for (const [width, height, columns, rows] of [
    [1280, 720, 2, 1],
    [1920, 1080, 3, 2],
    [7680, 1080, 12, 2],
    [320, 240, 1, 1],
    [100_000, 100, 16, 1],
  ] as const)
    assert.deepEqual(chooseTiles(input, { width, height }), { columns, rows, motion: true });
  assert.deepEqual(chooseTiles(input, { width: 1920, height: 1080 }, { width: 0.3, height: 0.5 }), {
    ...{ columns: 1, rows: 1, motion: true },
  });
});

test("tiles move only on request, and with a size that the frame decides", () => {
  const size = { width: 4 * model.card.input.width, height: 4 * model.card.input.height };
  const { regions, onlyMoving } = makeRequest({ ...OF_CARD, tiles: "motion" }, model, size);
  assert.deepEqual([regions.length, onlyMoving], [5, true]);
  assert.equal(makeRequest({ ...OF_CARD, tiles: { columns: 2, rows: 2 } }, model).onlyMoving, false);
  assert.equal(makeRequest(OF_CARD, model).onlyMoving, false);
});
