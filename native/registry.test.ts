import assert from "node:assert/strict";
import test from "node:test";
import { H264 } from "./film.fixture.ts";
import { describeFactory, listFactories, preferFactories } from "./gstreamer.ts";
import { build, element, ending, NO_HANG, pictures, sink } from "./pipeline.fixture.ts";

interface Property {
  readonly kind: string;
  readonly gtype: string;
  readonly about: string;
  readonly default: unknown;
  readonly writable: boolean;
  readonly readable: boolean;
  readonly live: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly values?: readonly { nick: string; value: number; about: string }[];
}
interface Factory {
  readonly name: string;
  readonly longName: string;
  readonly klass: string;
  readonly plugin: string;
  readonly rank: number;
  readonly pads: readonly { name: string; direction: string; presence: string; caps: string }[];
  readonly properties: Readonly<Record<string, Property>>;
}
const describe = (name: string) => describeFactory(name) as Factory;
/** GStreamer does not sort pads. */
const sorted = (pads: Factory["pads"]) => [...pads].sort((a, b) => a.name.localeCompare(b.name));
const property = (factory: string, name: string) => describe(factory).properties[name] ?? assert.fail(`no ${name}`);

test("queue: pads, ranges, defaults and enum values", () => {
  const queue = describe("queue");
  assert.deepEqual([queue.longName, queue.klass, queue.plugin], ["Queue", "Generic", "coreelements"]);
  assert.deepEqual(sorted(queue.pads), [
    { name: "sink", direction: "sink", presence: "always", caps: "ANY" },
    { name: "src", direction: "src", presence: "always", caps: "ANY" },
  ]);
  const { kind, gtype, minimum, maximum, live, writable, readable, ...rest } = property("queue", "max-size-buffers");
  assert.deepEqual(
    { kind, gtype, minimum, maximum, live, writable, readable, default: rest.default },
    {
      kind: "integer",
      gtype: "guint",
      minimum: 0,
      maximum: 2 ** 32 - 1,
      live: true,
      writable: true,
      readable: true,
      default: 200,
    },
  );
  const leaky = property("queue", "leaky");
  assert.deepEqual([leaky.kind, leaky.default], ["enum", "no"]);
  assert.deepEqual(
    leaky.values?.map(({ nick, value }) => [nick, value]),
    [
      ["no", 0],
      ["upstream", 1],
      ["downstream", 2],
    ],
  );
  assert.equal(property("queue", "current-level-buffers").writable, false);
});

test("x264enc: flags, enum values, and properties mutable while PLAYING", () => {
  const preset = property("x264enc", "speed-preset");
  assert.deepEqual([preset.kind, preset.default], ["enum", "medium"]);
  assert.ok(preset.values?.some(({ nick }) => nick === "ultrafast"));
  const tune = property("x264enc", "tune");
  assert.equal(tune.kind, "flags");
  assert.ok(tune.values?.some(({ nick }) => nick === "zerolatency"));
  assert.equal(property("x264enc", "bitrate").live, true);
  assert.equal(property("x264enc", "key-int-max").live, false);
  assert.equal(property("x264enc", "cabac").default, true);
  assert.match(describe("x264enc").klass, /Codec\/Encoder\/Video/);
});

test("videotestsrc: a source with one output", () => {
  const source = describe("videotestsrc");
  assert.deepEqual(
    source.pads.map(({ direction, presence }) => [direction, presence]),
    [["src", "always"]],
  );
  const pattern = property("videotestsrc", "pattern");
  assert.deepEqual([pattern.kind, pattern.default], ["enum", "smpte"]);
  assert.ok(pattern.values?.some(({ nick, about }) => nick === "ball" && about === "Moving ball"));
  assert.equal(property("videotestsrc", "num-buffers").minimum, -1);
  assert.equal(property("videotestsrc", "timestamp-offset").default, 0);
});

test("distinguishes kinds other than text and numbers", () => {
  assert.equal(property("capsfilter", "caps").kind, "caps");
  assert.equal(property("multifilesrc", "caps").default, null);
  assert.equal(property("videotestsrc", "name").kind, "string");
  assert.equal(property("videotestsrc", "parent").kind, "opaque");
  assert.equal(property("x264enc", "option-string").default, "");
  assert.equal(property("videobox", "fill").kind, "enum");
  assert.equal(property("videobox", "alpha").kind, "number");
  assert.equal(property("videotestsrc", "is-live").kind, "boolean");
});

test("reports every pad presence", () => {
  const presence = (factory: string) => sorted(describe(factory).pads).map(({ name, presence }) => [name, presence]);
  assert.deepEqual(presence("tee"), [
    ["sink", "always"],
    ["src_%u", "request"],
  ]);
  assert.ok(presence("qtdemux").some(([, when]) => when === "sometimes"));
});

test("describes a TypeScript element like any other", () => {
  const name = element(() => ({ process: () => {} }), {
    about: "Does nothing.",
    caps: "video/x-raw,format=I420",
    properties: [
      { name: "count", about: "How many.", kind: "integer", live: true, default: 2, minimum: 1, maximum: 5 },
      { name: "needed", about: "No default.", kind: "integer", live: false, minimum: 3, maximum: 9 },
      { name: "mode", about: "Which.", kind: "enum", live: false, default: "b", values: ["a", "b"] },
    ],
  });
  const { klass, pads } = describe(name);
  assert.equal(klass, "Filter/Windhover");
  assert.deepEqual(
    sorted(pads).map(({ name, direction, presence }) => [name, direction, presence]),
    [
      ["sink", "sink", "always"],
      ["src", "src", "always"],
    ],
  );
  const { kind, live, minimum, maximum, about, ...rest } = property(name, "count");
  assert.deepEqual(
    { kind, live, minimum, maximum, about, default: rest.default },
    { kind: "integer", live: true, minimum: 1, maximum: 5, about: "How many.", default: 2 },
  );
  assert.equal(property(name, "needed").default, 3);
  assert.deepEqual([property(name, "mode").default, property(name, "mode").live], ["b", false]);
});

test("lists all factories without their properties", () => {
  const all = listFactories() as Factory[];
  const names = new Set(all.map(({ name }) => name));
  for (const name of ["queue", "tee", "x264enc", "rtspsrc", "keyframes"]) assert.ok(names.has(name), name);
  assert.ok(all.every((factory) => !("properties" in factory)));
  assert.equal(describeFactory("nosuchthing"), undefined);
});

test("autoplugging chooses a preferred factory", NO_HANG, async () => {
  for (const [wanted, other] of [
    ["openh264dec", "avdec_h264"],
    ["avdec_h264", "openh264dec"],
  ] as const) {
    preferFactories(["nosuchthing", wanted, other]);
    let running = "";
    const out = sink(async () => {
      running = await pipeline.dot();
    });
    const steps = { ...pictures(1), ...H264, decoder: ["decodebin", {}, "video/x-raw"], out: [out] } as const;
    const pipeline = await build(steps);
    await pipeline.setState("PLAYING");
    await ending(pipeline);
    await pipeline.close();
    assert.match(running, new RegExp(`cluster_${wanted}`));
    assert.doesNotMatch(running, new RegExp(`cluster_${other}`));
  }
});

test("compositor: base types, and properties of its inputs without those of every pad", () => {
  const { bases, pads } = describeFactory("compositor") as {
    bases: string[];
    pads: { name: string; properties?: Record<string, Property> }[];
  };
  assert.deepEqual(bases, ["GstVideoAggregator", "GstAggregator"]);
  const input = pads.find(({ name }) => name === "sink_%u")?.properties ?? assert.fail("no properties");
  assert.deepEqual([input.alpha?.kind, input.alpha?.minimum, input.alpha?.maximum], ["number", 0, 1]);
  assert.ok(!["name", "parent", "caps", "template", "direction"].some((name) => name in input));
});
