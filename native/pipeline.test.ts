import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { framesOf, makeFilm, makeSound, withFolder } from "./film.fixture.ts";
import { receiveLog, setLogLevels } from "./gstreamer.ts";
import { aliveCounts } from "./handlers.ts";
import {
  build,
  chain,
  element,
  ending,
  gate,
  NO_HANG,
  newPipeline,
  pictures,
  play,
  type Steps,
  sink,
  transform,
} from "./pipeline.fixture.ts";
import { MessageQueue } from "./pipeline.ts";

let folder = "";
const done = gate();
let kept: Promise<void>;
before(async () => {
  const ready = gate<string>();
  kept = withFolder((path) => {
    ready.open(path);
    return done.opened;
  });
  folder = await ready.opened;
  await makeFilm(join(folder, "film.mp4"), 30, true);
  await makeSound(join(folder, "sound.mp4"));
});
after(async () => {
  done.open();
  await kept;
});

/** Frames that a videoflip has written, and the size of what leaves it. */
async function flip(tags: string): Promise<{ written: number; size: string }> {
  let written = 0;
  let size = "";
  receiveLog(({ message }) => {
    if (message.includes("flipping")) written += 1;
  });
  setLogLevels("*:0,videoflip:6");
  try {
    const out = sink(({ format: { width, height } }) => {
      size = `${width}x${height}`;
    });
    await play({
      ...pictures(3),
      tags: ["taginject", { tags }],
      flip: ["videoflip", { "video-direction": "auto" }],
      out: [out],
    });
  } finally {
    receiveLog(null);
    setLogLevels("0");
  }
  return { written, size };
}

test("videoflip writes only frames that have to be turned", NO_HANG, async () => {
  assert.deepEqual(await flip("title=upright"), { written: 0, size: "64x48" });
  assert.deepEqual(await flip("image-orientation=rotate-90"), { written: 3, size: "48x64" });
  assert.deepEqual(await flip("image-orientation=rotate-180"), { written: 3, size: "64x48" });
});

test(
  "frames with a decoder's padding are written without it, after filters that work in place too",
  NO_HANG,
  async () => {
    const frames = 5;
    for (const filters of [
      {},
      { first: ["videobalance", { saturation: 0 }], second: ["gamma", { gamma: 2 }] },
    ] as Steps[]) {
      const file = join(folder, `${Object.keys(filters).length}.y4m`);
      await play({
        film: ["filesrc", { location: join(folder, "film.mp4") }],
        ...{ demuxer: ["qtdemux", {}, "video/x-h264"], parser: ["h264parse"], decoder: ["avdec_h264"] },
        ...{ flip: ["videoflip", { "video-direction": "auto" }], limit: ["identity", { "eos-after": frames }] },
        ...filters,
        ...{ writer: ["y4menc"], file: ["filesink", { location: file }] },
      });
      const bytes = await readFile(file);
      const frame = "FRAME\n".length + (64 * 48 * 3) / 2;
      const starts = Array.from({ length: frames }, (_, at) => bytes.indexOf("\n") + 1 + at * frame);
      for (const at of starts) assert.equal(bytes.toString("latin1", at, at + 6), "FRAME\n");
      assert.equal(bytes.length, (starts[0] ?? 0) + frames * frame);
    }
  },
);

const GOOD = chain({ ...pictures(3), out: ["fakesink"] });
for (const [behaviour, segment, message] of [
  [
    "an element that is not installed",
    chain({ source: ["videotestsrc"], format: ["nosuchthing"], out: ["fakesink"] }),
    /format: unknown GStreamer element "nosuchthing" \(is its plugin installed\?\)/,
  ],
  [
    "an unknown property",
    chain({ source: ["videotestsrc", { colour: 1 }], out: ["fakesink"] }),
    /source \(videotestsrc\) has no property "colour"/,
  ],
  [
    "a value of the wrong type",
    chain({ source: ["videotestsrc", { pattern: "plaid" }], out: ["fakesink"] }),
    /source \(videotestsrc\) property "pattern" takes a GstVideoTestSrcPattern, not "plaid"/,
  ],
  [
    "a link of incompatible elements",
    chain({ source: ["videotestsrc"], format: ["audioconvert"], out: ["fakesink"] }),
    /cannot link source to format: .*source gives video\/x-raw.*format takes audio\/x-raw/,
  ],
  ["a link from a sink", chain({ out: ["fakesink"], source: ["identity"] }), /out has no free output/],
  [
    "a link to an unknown node",
    { nodes: GOOD.nodes, links: [...GOOD.links, { from: "source", to: "missing" }] },
    /no node "missing" to link/,
  ],
  [
    "an unknown pad",
    { nodes: GOOD.nodes, links: [{ from: "source", fromPad: "left", to: "format" }] },
    /source has no free output/,
  ],
  [
    "invalid caps",
    { nodes: GOOD.nodes, links: [{ from: "source", to: "format", caps: "video/x-raw,width=(" }] },
    /"video\/x-raw,width=\(" are not valid caps/,
  ],
  [
    "two nodes with the same name",
    { nodes: [...GOOD.nodes, ...GOOD.nodes], links: [] },
    /source: a node with this name exists already/,
  ],
] as const)
  test(`rejects ${behaviour} and leaves the pipeline empty`, NO_HANG, async () => {
    const pipeline = newPipeline();
    await assert.rejects(pipeline.build(segment), message);
    assert.doesNotMatch(await pipeline.dot(), /source|format|out\b/);
    await pipeline.build(GOOD);
    await pipeline.setState("PLAYING");
    assert.equal((await ending(pipeline)).type, "eos");
    await pipeline.close();
  });

test("a failed link releases the pad it requested", NO_HANG, async () => {
  const pipeline = await build({ source: ["videotestsrc"], tee: ["tee"] });
  const wrong = {
    nodes: [{ name: "voice", factory: "audioconvert", properties: {} }],
    links: [{ from: "tee", to: "voice" }],
  };
  const before = await pipeline.get("tee", "num-src-pads");
  await assert.rejects(pipeline.build(wrong), /cannot link tee to voice|has no free input/);
  assert.equal(await pipeline.get("tee", "num-src-pads"), before);
  await pipeline.close();
});

test("links pads that appear while running when they fit", NO_HANG, async () => {
  const video = await framesOf(join(folder, "film.mp4"));
  assert.equal(video.length, 30);
  const media = new Set<string>();
  const out = sink((frame) => void media.add(frame.format.mediaType));
  await play({
    file: ["filesrc", { location: join(folder, "film.mp4") }],
    demuxer: ["qtdemux", {}, "audio/mpeg"],
    out: [out],
  });
  assert.deepEqual([...media], ["audio/mpeg"]);
});

test("links pads again that disappeared in READY", NO_HANG, async () => {
  let frames = 0;
  const out = sink(() => {
    frames += 1;
  });
  const pipeline = await build({
    file: ["filesrc", { location: join(folder, "film.mp4") }],
    decoder: ["decodebin", {}, "video/x-raw"],
    out: [out],
  });
  for (const expected of [30, 60]) {
    await pipeline.setState("PLAYING");
    assert.equal((await ending(pipeline)).type, "eos");
    await pipeline.setState("READY");
    assert.equal(frames, expected);
  }
  await pipeline.close();
});

test("an error for a missing stream lists the streams found", NO_HANG, async () => {
  const pipeline = await build({
    file: ["filesrc", { location: join(folder, "sound.mp4") }],
    demuxer: ["qtdemux", {}, "video/x-h264"],
    out: ["fakesink"],
  });
  await pipeline.setState("PLAYING");
  const end = await ending(pipeline);
  await pipeline.close();
  assert.match(
    end.type === "error" ? end.message : "eos",
    /no stream that fits: expected video\/x-h264, found audio_0 \(audio\/mpeg\)/,
  );
});

test("a failed state change has the error of the bus", NO_HANG, async () => {
  const pipeline = await build({
    file: ["filesrc", { location: join(folder, "missing.mp4") }],
    decoder: ["decodebin", {}, "video/x-raw"],
    out: ["fakesink"],
  });
  await assert.rejects(pipeline.setState("PLAYING"), /cannot go to PLAYING: file: Resource not found/);
  await pipeline.close();
});

test("an error inside an autoplugger is attributed to the node of the plan", NO_HANG, async () => {
  const pipeline = await build({
    file: ["filesrc", { location: new URL(import.meta.url).pathname }],
    decoder: ["decodebin", {}, "video/x-raw"],
    out: ["fakesink"],
  });
  await pipeline.setState("PLAYING").catch(() => {});
  const end = await ending(pipeline);
  await pipeline.close();
  assert.ok(end.type === "error");
  assert.equal(end.node, "decoder");
});

test("a file has duration and position, and seeks", NO_HANG, async () => {
  const first = gate();
  const sought = gate<bigint | null>();
  let seeking = false;
  const out = element(
    () => ({
      process: (frame) => {
        first.open();
        if (seeking) sought.open(frame.ptsNs);
      },
      flush: () => {
        seeking = true;
      },
    }),
    { kind: "sink" },
  );
  const pipeline = await build({
    file: ["filesrc", { location: join(folder, "film.mp4") }],
    decoder: ["decodebin", {}, "video/x-raw"],
    out: [out],
  });
  assert.equal(await pipeline.duration(), null);
  await pipeline.setState("PAUSED");
  await pipeline.setState("PLAYING");
  await first.opened;
  assert.ok(((await pipeline.duration()) ?? 0n) >= 1_000_000_000n);
  await ending(pipeline);
  assert.ok(((await pipeline.position()) ?? 0n) > 0n);
  await pipeline.seek(500_000_000n);
  assert.equal(await sought.opened, 500_000_000n);
  await pipeline.close();
});

test("rejects a seek in a source that cannot seek", NO_HANG, async () => {
  const pipeline = await build({ source: ["appsrc"], out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  await assert.rejects(pipeline.seek(0n), /this source cannot seek/);
  await pipeline.close();
});

test("the latency is that of the source plus that of elements", NO_HANG, async () => {
  const hold = element(() => ({ process: () => {} }), { inFlight: 4 });
  const first = gate();
  const pass = transform(() => first.open());
  const pipeline = await build({
    ...pictures(-1, undefined, { "is-live": true }),
    hold: [hold],
    pass: [pass],
    out: ["fakesink", { sync: true }], // a sink that does not wait for the clock has no latency
  });
  await pipeline.setState("PLAYING");
  await first.opened;
  const before = await pipeline.latency();
  assert.equal(before?.live, true);
  pipeline.setLatency("hold", 200_000_000n);
  const later = await pipeline.latency();
  assert.equal((later?.minimumNs ?? 0n) - (before?.minimumNs ?? 0n), 200_000_000n);
  await pipeline.close();
});

test("a handler sets its latency when it starts", NO_HANG, async () => {
  const latencyOf = async (latencyMs: number) => {
    const first = gate();
    const hold = element(() => ({ process: () => first.open(), latencyMs }), { inFlight: 4 });
    const pipeline = await build({
      ...pictures(-1, undefined, { "is-live": true }),
      hold: [hold],
      out: ["fakesink", { sync: true }],
    });
    await pipeline.setState("PLAYING");
    await first.opened;
    const latency = await pipeline.latency();
    await pipeline.close();
    return latency?.minimumNs ?? 0n;
  };
  assert.equal((await latencyOf(150)) - (await latencyOf(0)), 150_000_000n);
});

test("endOfStream delivers the frames in the pipeline", NO_HANG, async () => {
  const first = gate();
  const calls: string[] = [];
  const out = element(
    () => ({
      process: () => {
        first.open();
        calls.push("frame");
      },
      end: () => void calls.push("end"),
    }),
    { kind: "sink" },
  );
  const pipeline = await build({ ...pictures(-1), out: [out] });
  await pipeline.setState("PLAYING");
  await first.opened;
  await pipeline.endOfStream();
  assert.equal((await ending(pipeline)).type, "eos");
  await pipeline.close();
  assert.equal(calls.at(-1), "end");
});

test("the Graphviz output has every node", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(1), it: ["identity"], out: ["fakesink"] });
  const dot = await pipeline.dot();
  assert.match(dot, /^digraph pipeline \{/);
  for (const node of ["source", "format", "it", "out"]) assert.match(dot, new RegExp(`cluster_${node}_`));
  await pipeline.close();
});

test("messages end when the pipeline is closed", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(-1), out: ["fakesink"] });
  const states: string[] = [];
  const reading = (async () => {
    for await (const message of pipeline.messages()) if (message.type === "state") states.push(message.to);
  })();
  await pipeline.setState("PLAYING");
  await pipeline.close();
  await reading;
  assert.deepEqual(states, ["READY", "PAUSED", "PLAYING"]);
});

test("a closed pipeline rejects operations at once", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(-1), out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  const [first, second] = [pipeline.close(), pipeline.close()];
  await Promise.all([first, second, pipeline.close()]);
  await pipeline.close();
  const closed = /the pipeline is closed/;
  await assert.rejects(pipeline.setState("PLAYING"), closed);
  await assert.rejects(pipeline.build(GOOD), closed);
  await assert.rejects(pipeline.seek(0n), closed);
  await assert.rejects(pipeline.position(), closed);
  await assert.rejects(pipeline.dot(), closed);
  await assert.rejects(pipeline.addBranch("b", { from: "tee", to: "q" }, GOOD), closed);
  await assert.rejects(pipeline.removeBranch("b"), closed);
  await assert.rejects(pipeline.set("out", { sync: true }), /no node "out"/);
  assert.throws(() => pipeline.tap("out", () => {}), /no node "out"/);
  assert.throws(() => pipeline.relayStatus("out"), /no appsrc "out"/);
});

test("close does not wait for operations in progress", NO_HANG, async () => {
  const pipeline = newPipeline();
  const outcomes = [pipeline.build(GOOD), pipeline.setState("PLAYING"), pipeline.dot(), pipeline.setState("PAUSED")];
  const settled = Promise.allSettled(outcomes);
  await pipeline.close();
  for (const outcome of await settled)
    if (outcome.status === "rejected") assert.match(String(outcome.reason), /clos|cannot go to/);
});

test("closes a pipeline that was never built", NO_HANG, async () => {
  await newPipeline().close();
});

test("shuts down a pipeline that was garbage-collected", NO_HANG, async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const closed = gate();
  const out = element(() => ({ process: () => {}, close: () => closed.open() }), { kind: "sink" });
  await (async () => {
    const pipeline = await build({ ...pictures(-1), out: [out] });
    await pipeline.setState("READY");
  })();
  const collecting = setInterval(collect, 1);
  await closed.opened;
  clearInterval(collecting);
  assert.equal(aliveCounts().instances, 0);
});

test("sets properties of pads before and while data flows", NO_HANG, async () => {
  const pipeline = newPipeline();
  const steps = chain({ ...pictures(2), mix: ["compositor", { "sink_3::alpha": 0.5 }], out: ["fakesink"] });
  const links = steps.links.map((link) => (link.to === "mix" ? { ...link, toPad: "sink_3" } : link));
  await pipeline.build({ nodes: steps.nodes, links });
  await pipeline.set("mix", { "sink_3::alpha": 0.25 });
  await assert.rejects(pipeline.set("mix", { "sink_3::alpha": 2 }), /pad "sink_3" property "alpha": 2 is out of range/);
  await assert.rejects(pipeline.set("mix", { "sink_4::alpha": 1 }), /has no pad "sink_4"/);
  await pipeline.close();
  const wrong = newPipeline();
  const nodes = steps.nodes.map((node) =>
    node.name === "mix" ? { ...node, properties: { "sink_3::alfa": 1 } } : node,
  );
  await assert.rejects(wrong.build({ nodes, links }), /mix pad "sink_3" has no property "alfa"/);
  await wrong.close();
});

async function readAll<T>(queue: MessageQueue<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of queue.read()) items.push(item);
  return items;
}

test("a message queue delivers what was put before the close, then ends", async () => {
  const queue = new MessageQueue<number>(10);
  queue.put(1);
  const reading = readAll(queue);
  await Promise.resolve();
  queue.put(2);
  setImmediate(() => {
    queue.put(3);
    queue.close();
  });
  assert.deepEqual(await reading, [1, 2, 3]);
});

test("a full message queue drops the oldest", async () => {
  const queue = new MessageQueue<number>(3);
  for (let item = 0; item < 10; item += 1) queue.put(item);
  queue.close();
  assert.deepEqual(await readAll(queue), [7, 8, 9]);
});

test("a full message queue keeps vital items and drops others", async () => {
  const queue = new MessageQueue<string>(3, (item) => item === "error" || item === "eos");
  for (const item of ["a", "error", "b", "eos", "c", "d", "e"]) queue.put(item);
  queue.close();
  assert.deepEqual(await readAll(queue), ["error", "eos", "e"]);
});

test("a flood of vital items is bounded, and the first ones stay", async () => {
  const queue = new MessageQueue<number>(3, () => true);
  for (let item = 0; item < 10; item += 1) queue.put(item);
  queue.close();
  assert.deepEqual(await readAll(queue), [0, 1, 2]);
});
