import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { InferenceSession } from "onnxruntime-node";
import { makeScatteredYolox, makeYolox } from "../onnx.fixture.ts";
import { findExternalData } from "./external-data.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-onnx-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const FILE = join(folder, "model.onnx");
const locate = (bytes: Uint8Array): string | null => {
  writeFileSync(FILE, bytes);
  return findExternalData(FILE);
};
const SCATTERED = makeScatteredYolox(3, "model.onnx.data");

test("finds the name of the file with a model's external weights", async () => {
  assert.equal(locate(SCATTERED.onnx), "model.onnx.data");
  // onnxruntime accepts this model as well.
  await assert.rejects(InferenceSession.create(FILE, { logSeverityLevel: 4 }), /model\.onnx\.data/);
  writeFileSync(join(folder, "model.onnx.data"), new Uint8Array(SCATTERED.bytes));
  await (await InferenceSession.create(FILE)).release();
});

test("returns null for a model in one file and for other files", () => {
  for (const bytes of [makeYolox(3), new Uint8Array(0), Buffer.from("no model at all"), new Uint8Array(9000).fill(255)])
    assert.equal(locate(bytes), null);
});

test("handles a damaged file without an error", () => {
  const change = fc.tuple(fc.nat(SCATTERED.onnx.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), fc.nat(SCATTERED.onnx.length), (changes, cut) => {
      const damaged = SCATTERED.onnx.slice(0, cut);
      for (const [at, value] of changes) if (at < cut) damaged[at] = value;
      const found = locate(damaged);
      assert.ok(found === null || typeof found === "string");
    }),
  );
});
