import assert from "node:assert/strict";
import { test } from "node:test";
import { makeContext, makeFactory } from "../registry.fixture.ts";
import decode from "./decode.ts";

const registry = [
  makeFactory("avdec_h264", { klass: "Codec/Decoder/Video", rank: 256 }),
  makeFactory("slowdec", { klass: "Codec/Decoder/Video/Hardware", rank: 1 }),
  makeFactory("vah264dec", { klass: "Codec/Decoder/Video/Hardware", rank: 300 }),
  makeFactory("hwaudio", { klass: "Codec/Decoder/Audio/Hardware", rank: 300 }),
  makeFactory("vah264enc", { klass: "Codec/Encoder/Video/Hardware", rank: 300 }),
];

const DEFAULTS = { frames: "all", every: "auto", maxPerSecond: 12, hardware: "auto" } as const;

const expand = (properties: object, live = false) => {
  assert.equal(decode.kind, "composite");
  return decode.expand({ ...DEFAULTS, ...properties }, makeContext(registry, { live }));
};

test("auto prefers the hardware video decoders, best rank first", () => {
  const { prefer, nodes } = expand({});
  assert.deepEqual(prefer, ["vah264dec", "slowdec"]);
  assert.deepEqual(nodes[0]?.properties, {});
});

test("never uses software decoders only", () => {
  const { prefer, nodes } = expand({ hardware: "never" });
  assert.deepEqual(prefer, []);
  assert.deepEqual(nodes[0]?.properties, { "force-sw-decoders": true });
});

const skipping = (properties: object, live: boolean) =>
  expand(properties, live).nodes.find(({ factory }) => factory === "skipframes")?.properties;

test("auto leaves out what a detector on live frames does not need", () => {
  assert.deepEqual(skipping({ frames: "auto", every: 5 }, true), { keep: "auto", every: 5 });
  assert.deepEqual(skipping({ frames: "auto", every: "motion", maxPerSecond: 6 }, true), { keep: "auto", rate: 6 });
  for (const every of ["auto", 1]) assert.equal(skipping({ frames: "auto", every }, true), undefined);
});

test("at pace fast auto decodes all frames, and otherwise what was asked for", () => {
  assert.equal(skipping({ frames: "auto", every: 5 }, false), undefined);
  for (const live of [false, true]) {
    assert.equal(skipping({ frames: "all", every: 5 }, live), undefined);
    assert.deepEqual(skipping({ frames: "reference", every: 5 }, live), { keep: "reference" });
    assert.deepEqual(skipping({ frames: "keyframes" }, live), { keep: "keyframes" });
  }
});
