import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { testModel } from "./detect.fixture.ts";
import { listLooks, type Region, readWanted, WHOLE } from "./request.ts";

const model = testModel("unused.onnx", { labels: ["person", "bicycle", "traffic light"] });
const OF_CARD = { confidence: null, weak: null, overlap: null, classes: [] };

test("null takes what the card says, numbers go before it", () => {
  assert.deepEqual(readWanted(OF_CARD, model), {
    confidence: 0.4,
    weak: 0.1,
    overlap: 0.5,
    minimum: 0.1,
    classIds: null,
  });
  const { confidence, minimum, overlap } = readWanted({ ...OF_CARD, confidence: 0, overlap: 0 }, model);
  assert.deepEqual([confidence, minimum, overlap], [0, 0, 0]);
});

test("classes are found by name", () => {
  assert.deepEqual(readWanted({ ...OF_CARD, classes: ["traffic light", "person"] }, model).classIds, new Set([2, 0]));
});

test("a class that the model does not know is refused with the nearest name and all of them", () => {
  assert.throws(
    () => readWanted({ ...OF_CARD, classes: ["person", "bycicle"] }, model),
    /the model test knows no class "bycicle"; did you mean "bicycle"\?\n {2}it knows person, bicycle, traffic light/,
  );
});

const near = (a: number, b: number) => Math.abs(a - b) < 1e-9;

test("without tiles the region is one look, and without a region the frame is", () => {
  const roi = { x: 0.25, y: 0.5, width: 0.5, height: 0.5 };
  assert.deepEqual(listLooks(null, null), [WHOLE]);
  assert.deepEqual(listLooks(roi, null), [roi]);
});

test("tiles have one size, cover the region to its edges and share what was asked for", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 0.9, noNaN: true }),
      (columns, rows, overlap) => {
        const roi = { x: 0.1, y: 0.2, width: 0.6, height: 0.7 };
        const tiles = listLooks(roi, { columns, rows, overlap, whole: false });
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

test("the undivided picture is looked at last, and not twice where it is the only tile", () => {
  const two = listLooks(null, { columns: 2, rows: 1, overlap: 0, whole: true });
  assert.deepEqual(two, [{ ...WHOLE, width: 0.5 }, { ...WHOLE, x: 0.5, width: 0.5 }, WHOLE]);
  assert.deepEqual(listLooks(null, { columns: 1, rows: 1, overlap: 0.2, whole: true }), [WHOLE]);
});

test("a region that reaches beyond the frame is refused with its numbers", () => {
  assert.throws(
    () => listLooks({ x: 0.5, y: 0, width: 0.75, height: 1 }, null),
    /roi reaches beyond the frame: x \+ width is 1\.25, y \+ height is 1; .* at most 1/,
  );
});

test("columns and rows are enough: tiles then share a fifth, and the whole is looked at too", () => {
  assert.deepEqual(
    listLooks(null, { columns: 2, rows: 1 }),
    listLooks(null, { columns: 2, rows: 1, overlap: 0.2, whole: true }),
  );
});
