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

const expand = (hardware: "auto" | "never") => {
  assert.equal(decode.kind, "composite");
  return decode.expand({ hardware }, makeContext(registry));
};

test("auto prefers the hardware video decoders, best rank first", () => {
  const { prefer, nodes } = expand("auto");
  assert.deepEqual(prefer, ["vah264dec", "slowdec"]);
  assert.deepEqual(nodes[0]?.properties, {});
});

test("never uses software decoders only", () => {
  const { prefer, nodes } = expand("never");
  assert.deepEqual(prefer, []);
  assert.deepEqual(nodes[0]?.properties, { "force-sw-decoders": true });
});
