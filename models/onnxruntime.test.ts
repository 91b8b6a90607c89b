import assert from "node:assert/strict";
import test from "node:test";
import { createPrecisely } from "./onnxruntime.ts";

/** Opens no session: fails with these messages in turn, then returns its options. */
async function open(...messages: readonly string[]) {
  const requested: (string | undefined)[] = [];
  const warnings: string[] = [];
  const create = async (extra?: Readonly<Record<string, Readonly<Record<string, string>>>>) => {
    requested.push(extra?.session?.x64quantprecision);
    const message = messages[requested.length - 1];
    if (message !== undefined) throw new Error(message);
  };
  const failure = await createPrecisely(create, (warning) => warnings.push(warning)).then(
    () => null,
    (error: Error) => error.message,
  );
  return { requested, warnings, failure };
}

const SHARED = "Exception during initialization: Initializer with same name exists. Name:w_s8_2_u8";

test("opens a model with precise sums", async () => {
  assert.deepEqual(await open(), { requested: ["1"], warnings: [], failure: null });
});

test("opens a model with shared weights without precise sums, with a warning", async () => {
  const { requested, warnings, failure } = await open(SHARED);
  assert.deepEqual([requested, failure, warnings.length], [["1", undefined], null, 1]);
  assert.match(warnings[0] ?? "", /share weights/);
});

test("does not retry after another error", async () => {
  assert.deepEqual(await open("Load model failed: file doesn't exist"), {
    requested: ["1"],
    warnings: [],
    failure: "Load model failed: file doesn't exist",
  });
  assert.deepEqual(await open(SHARED, "out of memory"), {
    requested: ["1", undefined],
    warnings: [],
    failure: "out of memory",
  });
});
