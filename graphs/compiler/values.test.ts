import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Json } from "../../schemas/json.ts";
import type { PropertyInfo } from "../../schemas/registry.ts";
import { editDistance, suggest } from "../../schemas/suggest.ts";
import { compileText, DETECT, world } from "./compiler.fixture.ts";
import { checkNativeValue } from "./native-properties.ts";
import { coerceParams, coerceText } from "./schema-check.ts";

describe("values of GStreamer properties", () => {
  const infoOf = (factory: string, name: string): PropertyInfo =>
    world.registry.get(factory)?.properties[name] ?? assert.fail();
  const cases: readonly (readonly [string, string, Json, Json | undefined | "refused"])[] = [
    ["x264enc", "tune", "zerolatency", "zerolatency"],
    ["x264enc", "tune", "fastdecode+zerolatency", "fastdecode+zerolatency"],
    ["x264enc", "tune", ["fastdecode", "zerolatency"], "fastdecode+zerolatency"],
    ["x264enc", "tune", 5, 5],
    ["x264enc", "tune", 8, "refused"],
    ["x264enc", "tune", "fast", "refused"],
    ["x264enc", "tune", "", "refused"],
    ["queue", "leaky", 2, "downstream"],
    ["queue", "leaky", 3, "refused"],
    ["queue", "max-size-buffers", 1.5, "refused"],
    ["queue", "max-size-buffers", null, undefined],
    ["videorate", "rate", 1.5, 1.5],
    ["videorate", "rate", -1, "refused"],
    ["framestep", "step", "30/1", "30/1"],
    ["framestep", "step", 30, "30/1"],
    ["framestep", "step", "30", "30/1"],
    ["framestep", "step", "30/0", "refused"],
    ["framestep", "step", 29.97, "refused"],
    ["framestep", "extra", "a,b=1", "a,b=1"],
    ["fakesink", "sync", "true", "refused"],
    ["filesink", "location", 7, "refused"],
    ["capsfilter", "caps", "video/x-raw,width=640", "video/x-raw,width=640"],
  ];
  for (const [factory, name, given, wanted] of cases) {
    test(`${factory}.${name} ${wanted === "refused" ? "rejects" : "accepts"} ${JSON.stringify(given)}`, () => {
      const verdict = checkNativeValue(infoOf(factory, name), given, false);
      assert.deepEqual(verdict.ok ? verdict.value : "refused", wanted);
    });
  }
});

describe("text from a command line", () => {
  const cases: readonly (readonly [string, object, Json])[] = [
    ["0.5", { type: "number" }, 0.5],
    ["5", { type: "string" }, "5"],
    ["5", { type: "integer" }, 5],
    ["true", { type: "boolean" }, true],
    ["true", { type: "string" }, "true"],
    ["null", { enum: ["360p", null] }, null],
    ["360p", { enum: ["360p", null] }, "360p"],
    ["1,2.5", { type: "array", items: { type: "number" } }, [1, 2.5]],
    ["a", { type: "array", items: { type: "string" } }, ["a"]],
    ["[1]", { type: "array", items: { type: "number" } }, [1]],
    ['{"a":1}', { type: "object" }, { a: 1 }],
    ["5", {}, 5],
    ["five", { type: "number" }, "five"],
    ["7", { type: "number", maximum: 1 }, 7],
    ["{", { type: "object" }, "{"],
    ["", { type: "string" }, ""],
  ];
  for (const [text, schema, value] of cases) {
    test(`${JSON.stringify(text)} for ${JSON.stringify(schema)}`, () =>
      assert.deepEqual(coerceText(text, schema), value));
  }

  test("becomes parameters of the types a graph declares", () => {
    const { paramSchema } = compileText(DETECT, { mode: "check" });
    assert.deepEqual(coerceParams(paramSchema, { confidence: "0.5", model: "7", other: "1" }), {
      confidence: 0.5,
      model: "7",
      other: "1",
    });
  });
});

describe("suggestions", () => {
  const cases: readonly (readonly [string, readonly string[], string | undefined])[] = [
    ["detct", ["track", "detect"], "detect"],
    ["teh", ["the", "tee"], "the"],
    ["maxSizeBuffers", ["max-size-bytes", "max-size-buffers"], "max-size-buffers"],
    ["x", ["yz"], undefined],
    ["videoconvert", ["audioconvert"], "audioconvert"],
    ["banana", ["queue", "tee"], undefined],
  ];
  for (const [name, known, wanted] of cases)
    test(`${name} → ${wanted ?? "none"}`, () => assert.equal(suggest(name, known), wanted));

  test("the distance is symmetric, 0 only for the same, and never over the limit by more than one", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), fc.nat(5), (a, b, limit) => {
        const distance = editDistance(a, b, limit);
        assert.equal(distance, editDistance(b, a, limit));
        assert.equal(distance === 0, a === b);
        assert.ok(distance <= limit + 1);
      }),
    );
  });
});
