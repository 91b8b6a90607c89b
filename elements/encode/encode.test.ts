import assert from "node:assert/strict";
import { test } from "node:test";
import type { FactoryInfo } from "../../schemas/registry.ts";
import { ExpandFault } from "../element.ts";
import { makeContext, makeFactory, makeNicks, makeProperty } from "../registry.fixture.ts";
import encode from "./encode.ts";

const x264enc = makeFactory("x264enc", { klass: "Codec/Encoder/Video" });
const vah264enc = makeFactory("vah264enc", {
  klass: "Codec/Encoder/Video/Hardware",
  rank: 256,
  pads: [{ name: "src", direction: "src", presence: "always", caps: "video/x-h264, profile=(string)main" }],
  properties: {
    bitrate: makeProperty("integer", { minimum: 0, maximum: 2_048_000, live: true }),
    "b-frames": makeProperty("integer", { minimum: 0, maximum: 31 }),
    "key-int-max": makeProperty("integer", { minimum: 0, maximum: 1024 }),
    "rate-control": makeProperty("enum", { values: makeNicks("cbr", "vbr", "cqp") }),
  },
});

const expand = (
  factories: readonly FactoryInfo[],
  given: {
    codec?: "h264" | "h265";
    hardware?: "auto" | "never";
    bitrateKbps?: number | null;
    resolution?: "360p" | "720p" | "1080p" | null;
  } = {},
) => {
  assert.equal(encode.kind, "composite");
  const properties = {
    codec: "h264",
    bitrateKbps: 1500,
    resolution: null,
    keyframeSeconds: 2,
    preset: "veryfast",
    hardware: "auto",
  } as const;
  return encode.expand({ ...properties, ...given }, makeContext(factories)).nodes;
};

const findEncoder = (...input: Parameters<typeof expand>) =>
  expand(...input).find(({ suffix }) => suffix === "encoder");

test("uses x264 without B-frames or look-ahead if there is no hardware", () => {
  assert.deepEqual(findEncoder([x264enc]), {
    suffix: "encoder",
    factory: "x264enc",
    properties: {
      tune: "zerolatency",
      "speed-preset": "veryfast",
      bframes: 0,
      "byte-stream": true,
      bitrate: 1500,
      "key-int-max": 480,
    },
  });
});

test("chooses the default bit rate by resolution", () => {
  const rates = (["360p", "720p", "1080p", null] as const).map(
    (resolution) => findEncoder([x264enc], { resolution, bitrateKbps: null })?.properties.bitrate,
  );
  assert.deepEqual(rates, [1000, 2500, 4500, 3000]);
  assert.equal(findEncoder([x264enc], { resolution: "360p" })?.properties.bitrate, 1500);
});

test("requests keyframes by time, right before the encoder", () => {
  const nodes = expand([x264enc]);
  const at = nodes.findIndex(({ suffix }) => suffix === "encoder");
  assert.deepEqual(nodes[at - 1], {
    suffix: "keyframes",
    factory: "keyframes",
    properties: { interval: 2_000_000_000 },
  });
});

test("outputs a byte stream of access units with parameter sets in every keyframe", () => {
  const [parse, stream] = expand([x264enc]).slice(-2);
  assert.deepEqual(parse, { suffix: "parse", factory: "h264parse", properties: { "config-interval": -1 } });
  assert.equal(stream?.properties.caps, "video/x-h264,stream-format=byte-stream,alignment=au");
});

test("uses a hardware encoder that has all properties", () => {
  assert.deepEqual(findEncoder([x264enc, vah264enc]), {
    suffix: "encoder",
    factory: "vah264enc",
    properties: { "rate-control": "cbr", bitrate: 1500, "b-frames": 0, "key-int-max": 480 },
  });
});

for (const [why, factory] of [
  ["lacks a setting", { ...vah264enc, properties: { bitrate: makeProperty("integer") } }],
  [
    "does not know constant rate",
    {
      ...vah264enc,
      properties: { ...vah264enc.properties, "rate-control": makeProperty("enum", { values: makeNicks("cqp") }) },
    },
  ],
  [
    "cannot reach the rate",
    { ...vah264enc, properties: { ...vah264enc.properties, bitrate: makeProperty("integer", { maximum: 1000 }) } },
  ],
  ["is of no family we know", { ...vah264enc, name: "exoticenc" }],
] as const) {
  test(`does not use a hardware encoder that ${why}`, () => {
    assert.equal(findEncoder([x264enc, factory])?.factory, "x264enc");
  });
}

test("never uses software encoders only", () => {
  assert.equal(findEncoder([x264enc, vah264enc], { hardware: "never" })?.factory, "x264enc");
});

test("rejects a codec without an encoder and names the package to install", () => {
  assert.throws(
    () => expand([x264enc], { codec: "h265" }),
    (error) =>
      error instanceof ExpandFault && error.property === "codec" && /gstreamer1\.0-plugins-bad/.test(error.message),
  );
});
