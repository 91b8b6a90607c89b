import assert from "node:assert/strict";
import { test } from "node:test";
import { type ExpandContext, ExpandFault, type SourceBinding } from "../element.ts";
import { makeContext, makeFactory, makeNicks, makeProperty } from "../registry.fixture.ts";
import source from "./source.ts";

const videotestsrc = makeFactory("videotestsrc", {
  properties: { pattern: makeProperty("enum", { values: makeNicks("smpte", "snow", "ball") }) },
});

const DEFAULTS = { latencyMs: 200, transport: "tcp", connectMs: 5000, stallMs: 3000, giveUpSeconds: 300 } as const;

function expand(given: { uri?: string; pace?: "realtime" | "fast" }, bound: SourceBinding | null = null) {
  assert.equal(source.kind, "composite");
  const context: ExpandContext = makeContext([videotestsrc], { source: bound });
  return source.expand({ ...DEFAULTS, ...given }, context).nodes;
}

const factoriesOf = (...input: Parameters<typeof expand>): readonly string[] =>
  expand(...input).map(({ factory }) => factory);

for (const [behaviour, given, bound, factories] of [
  ["a file is parsed and runs as fast as possible", { uri: "a.mp4" }, null, ["filesrc", "parsebin"]],
  [
    "a file at the pace of the world waits for the clock",
    { uri: "a.mp4", pace: "realtime" },
    null,
    ["filesrc", "parsebin", "clocksync"],
  ],
  ["a step without uri takes what the graph is started on", {}, { uri: "a.mp4" }, ["filesrc", "parsebin"]],
  [
    "the pace the graph is started with counts",
    {},
    { uri: "a.mp4", pace: "realtime" },
    ["filesrc", "parsebin", "clocksync"],
  ],
  ["the step's own pace wins", { pace: "fast" }, { uri: "a.mp4", pace: "realtime" }, ["filesrc", "parsebin"]],
  ["the step's own uri wins", { uri: "test:ball" }, { uri: "a.mp4" }, ["videotestsrc", "capsfilter"]],
  [
    "a test pattern can be paced",
    { uri: "test:", pace: "realtime" },
    null,
    ["videotestsrc", "capsfilter", "clocksync"],
  ],
  ["a camera is fed by the ingest pipeline", { uri: "rtsp://cam/1" }, null, ["appsrc"]],
] as const satisfies readonly (readonly [
  string,
  Parameters<typeof expand>[0],
  SourceBinding | null,
  readonly string[],
])[]) {
  test(behaviour, () => assert.deepEqual(factoriesOf(given, bound), factories));
}

test("links the video stream of a file with several streams", () => {
  assert.match(expand({ uri: "a.mp4" })[1]?.onward ?? "", /video\/x-h264;video\/x-h265/);
});

test("sets size, rate and length of a test pattern", () => {
  const [generator, format] = expand({ uri: "test:ball?width=320&height=240&fps=10&seconds=3" });
  assert.deepEqual(generator?.properties, { pattern: "ball", "num-buffers": 30 });
  assert.equal(format?.properties.caps, "video/x-raw,format=I420,width=320,height=240,framerate=10/1");
});

test("the appsrc of a camera drops nothing itself: the relay that feeds it limits its queue", () => {
  const { properties } = expand({ uri: "rtsp://cam/1" })[0] ?? assert.fail("no node");
  assert.equal(properties["leaky-type"], undefined);
  assert.deepEqual([properties["max-time"], properties["max-bytes"], properties["max-buffers"]], [0, 0, 0]);
});

for (const [behaviour, given, bound, property, message] of [
  [
    "rejects an unknown pattern with the nearest name",
    { uri: "test:bal" },
    null,
    "uri",
    /no test pattern "bal".*did you mean "ball"/,
  ],
  ["a bad pattern that the graph is started on neither", {}, { uri: "test:bal" }, null, /no test pattern/],
  ["rejects a graph without a source", {}, null, null, /no source/],
  [
    "a bad source that the graph is started on is not blamed on the step's uri",
    {},
    { uri: "http://x" },
    null,
    /"http:"/,
  ],
  ["a camera cannot be read fast", { uri: "rtsp://cam/1", pace: "fast" }, null, "pace", /is live/],
] as const satisfies readonly (readonly [
  string,
  Parameters<typeof expand>[0],
  SourceBinding | null,
  string | null,
  RegExp,
])[]) {
  test(behaviour, () => {
    assert.throws(
      () => expand(given, bound),
      (error) => error instanceof ExpandFault && error.property === property && message.test(error.message),
    );
  });
}
