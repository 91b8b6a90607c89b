import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { writeFlatFile } from "./flatbuffer.fixture.ts";
import { BadTflite, FlatFile, type Table } from "./flatbuffer.ts";

const FILE = writeFlatFile({
  0: { uint8: 200 },
  2: { int32: -70_000 },
  3: { text: "kestrel" },
  4: { int32s: [1, -2, 3] },
  5: { float32s: [0.5, -1.5] },
  6: { int64s: [-9, 12] },
  7: { tables: [{ 0: { int32: 11 } }, {}, { 1: { int32: 13 } }] },
  8: { table: { 0: { text: "inner" } } },
  9: { bytes: Uint8Array.of(7, 8, 9) },
});

/** Reads every kind of field. */
function readAll(root: Table): unknown[] {
  return [
    ...[root.uint8(0), root.int8(0), root.uint8(1), root.int32(2), root.text(3), root.int32s(4)],
    ...[root.float32s(5), root.int64s(6), root.tables(7).map((table) => table.int32(0, -1)), root.table(8)?.text(0)],
    ...[Array.from(root.bytes(9)), root.table(10), root.tables(10), root.uint8(1), root.int32(99, 5)],
  ];
}

test("reads numbers, texts, lists and tables, and defaults for absent fields", () => {
  assert.deepEqual(readAll(new FlatFile(FILE).root("TFL3")), [
    ...[200, -56, 0, -70_000, "kestrel", [1, -2, 3]],
    ...[[0.5, -1.5], [-9n, 12n], [11, -1, -1], "inner"],
    ...[[7, 8, 9], null, [], 0, 5],
  ]);
});

test("rejects another file format", () => {
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  assert.throws(() => new FlatFile(png).root("TFL3"), /not a TFLite file: expected "TFL3" .* found "\\r\\n/);
  assert.throws(() => new FlatFile(new Uint8Array(3)).root("TFL3"), /found 3 bytes/);
});

test("rejects a file that is truncated anywhere", () => {
  for (let length = 8; length < FILE.length - 3; length++) {
    assert.throws(() => readAll(new FlatFile(FILE.subarray(0, length)).root("TFL3")), BadTflite, `at ${length} bytes`);
  }
});

test("allocates nothing for a damaged length", () => {
  const damaged = FILE.slice();
  const at = damaged.findIndex((_, i) => new TextDecoder().decode(damaged.subarray(i, i + 7)) === "kestrel");
  new DataView(damaged.buffer).setUint32(at - 4, 0xffff_ffff, true);
  assert.throws(() => new FlatFile(damaged).root("TFL3").text(3), /damaged or truncated: it refers to byte 4294967/);
});

test("returns values or throws BadTflite for randomly changed bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(FILE.length - 9), fc.nat(255)), { minLength: 1, maxLength: 8 }), (changes) => {
      const damaged = FILE.slice();
      for (const [at, value] of changes) damaged[at + 8] = value;
      try {
        readAll(new FlatFile(damaged).root("TFL3"));
      } catch (error) {
        assert.ok(error instanceof BadTflite, String(error));
      }
    }),
    { numRuns: 500 },
  );
});
