/** GStreamer's own sources, without our `source`: the live ones drop and keep wall-clock time, files do neither. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import type { Registry } from "../../schemas/registry.ts";
import {
  collector,
  compiledLaunch,
  compiledText,
  inputWith,
  makeClip,
  start,
  temporaryFolder,
} from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import { compileLaunch } from "../compiler/compile.ts";
import type { GraphPlan } from "../compiler/plan.ts";

const folder = temporaryFolder();
const { registry } = inputWith();

const leakyOf = (plan: GraphPlan | null) =>
  plan?.main.nodes.find(({ element }) => element === "stage")?.properties.leaky ?? null;

for (const [source, isLive] of [
  ["udpsrc", true],
  ["srtsrc", true],
  ["rtspsrc location=rtsp://127.0.0.1/a", true],
  ["v4l2src", true],
  ["rtmp2src location=rtmp://127.0.0.1/live/a", true],
  ["videotestsrc is-live=true", true],
  ["souphttpsrc location=http://127.0.0.1/ is-live=true", true],
  ["souphttpsrc location=http://127.0.0.1/", false],
  ["videotestsrc", false],
  ["filesrc location=a.mp4", false],
  ["rtspsrc location=rtsp://127.0.0.1/a is-live=false", false],
] as const) {
  const [factory = ""] = source.split(" ");
  const skip = registry.get(factory) === undefined && `${factory} is not installed`;
  test(`${source} is ${isLive ? "live" : "not live"}: a stage behind it ${isLive ? "drops" : "waits"}`, {
    skip,
  }, () => {
    const { plan } = compiledLaunch(`${source} ! decode ! stage ! print`);
    assert.deepEqual([plan?.live, leakyOf(plan)], [isLive, isLive ? "downstream" : "no"]);
  });
}

interface Seen {
  readonly captureMs: number;
  readonly ptsNs: bigint | null;
}

function watchFrames() {
  const seen: Seen[] = [];
  const watch = new Watch();
  const sink = collector(({ captureNs, ptsNs }) => {
    seen.push({ captureMs: Number(captureNs / 1_000_000n), ptsNs });
    watch.look();
  });
  return { seen, watch, sink };
}

async function freePort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  return port;
}

const CAPS = "application/x-rtp,media=video,encoding-name=H264,clock-rate=90000";

/** H.264 over RTP, many packets a frame. */
const sendTo = (port: number) =>
  start(
    compiledLaunch(
      `videotestsrc is-live=true pattern=snow ! video/x-raw,width=160,height=120,framerate=25/1 ! ` +
        `x264enc tune=zerolatency key-int-max=5 ! rtph264pay config-interval=-1 mtu=200 ! udpsink host=127.0.0.1 port=${port} sync=false`,
    ),
    [],
  );

const receive = (port: number) => `udpsrc port=${port} caps="${CAPS}" ! rtph264depay ! avdec_h264 ! stage ! collect`;

test("udpsrc: frames have the time of their arrival, and a limit counts frames, not packets", async () => {
  const port = await freePort();
  const { seen, sink } = watchFrames();
  const beganMs = Date.now();
  let origins: readonly string[] = [];
  const compiled = compiledLaunch(receive(port), sink);
  const graph = await start(compiled, [sink], {
    onBuilt(pipeline, _, found) {
      origins = found;
      for (const node of found) pipeline.limit(node, { frames: 8 });
    },
  });
  const sender = await sendTo(port);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  await sender.stop();
  assert.deepEqual(origins, ["avdec_h264"]);
  assert.equal(seen.length, 8);
  for (const [index, { captureMs }] of seen.entries()) {
    assert.ok(captureMs >= beganMs - 1 && captureMs <= Date.now(), `${captureMs} is the time of arrival`);
    if (index > 0) assert.ok(captureMs > (seen[index - 1]?.captureMs ?? 0), "times rise");
  }
});

test("a source that turns out to be live at the start gets the plan of a live graph", async () => {
  const blind: Registry = {
    list: () => registry.list(),
    get(name) {
      const info = registry.get(name);
      return info && { ...info, liveSource: false };
    },
  };
  const { seen, watch, sink } = watchFrames();
  const port = await freePort();
  const input = { ...inputWith(sink), registry: blind };
  const compiled = compileLaunch(receive(port), input);
  assert.deepEqual([compiled.plan?.live, leakyOf(compiled.plan)], [false, "no"]);
  const beganMs = Date.now();
  const graph = await start(compiled, [sink], { registry: blind });
  const sender = await sendTo(port);
  assert.deepEqual([graph.plan.live, leakyOf(graph.plan)], [true, "downstream"]);
  await watch.until("frames", () => seen.length > 2);
  assert.ok(seen.every(({ captureMs }) => captureMs >= beganMs - 1 && captureMs <= Date.now()));
  assert.deepEqual(graph.preview(compileLaunch(receive(port), input)), []);
  await graph.stop();
  await sender.stop();
});

test("a paused live pipeline continues at wall-clock time", async () => {
  const { seen, watch, sink } = watchFrames();
  const graph = await start(compiledLaunch("videotestsrc is-live=true ! stage ! collect", sink), [sink]);
  await watch.until("frames", () => seen.length > 2);
  await graph.pause();
  const pausedAt = seen.length;
  const pausedMs = Date.now();
  const other = await start(compiledLaunch("videotestsrc is-live=true num-buffers=20 ! fakesink"), []);
  await other.ended;
  const resumedMs = Date.now();
  await graph.resume();
  await watch.until("frames after the pause", () => seen.length > pausedAt + 3);
  await graph.stop();
  const last = seen.at(-1)?.captureMs ?? 0;
  assert.ok(resumedMs > pausedMs && last >= resumedMs && last <= Date.now(), `${last} is after the pause`);
});

test("a file read by filesrc keeps its own time and loses nothing, and a limit counts its frames", async () => {
  const clip = await makeClip(folder, 30);
  const line = `filesrc location="${clip}" ! qtdemux ! h264parse ! avdec_h264 ! stage ! collect`;
  const run = async (frames?: number) => {
    const { seen, sink } = watchFrames();
    const graph = await start(compiledLaunch(line, sink), [sink], {
      onBuilt(pipeline, _, origins) {
        if (frames !== undefined) for (const node of origins) pipeline.limit(node, { frames });
      },
    });
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    return seen;
  };
  const all = await run();
  assert.equal(all.length, 30);
  assert.deepEqual(
    all.map(({ captureMs }) => captureMs),
    all.map(({ ptsNs }) => Number((ptsNs ?? -1n) / 1_000_000n)),
  );
  assert.deepEqual(await run(), all);
  assert.deepEqual(await run(7), all.slice(0, 7));
});

test("an empty stream ends", async () => {
  for (let run = 0; run < 15; run += 1) {
    const line = `source uri="test:ball?width=16&height=16&frames=1" ! decode ! encode ! record path="${folder}/short.mp4"`;
    const graph = await start(compiledLaunch(line), []);
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
  }
});

test("plays a looped file past its end, with rising times", async () => {
  const file = await makeClip(folder, 40);
  const times: bigint[] = [];
  const enough = new Watch();
  const collect = collector((frame) => {
    times.push(frame.ptsNs ?? 0n);
    enough.look();
  });
  const text = `graph: looped\nchains: { main: [{ source: { uri: "${file}", loop: true } }, decode, collect] }\n`;
  const graph = await start(compiledText(text, collect), [collect]);
  await enough.until("100 frames of a file of 40", () => times.length >= 100);
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
  assert.ok(
    times.every((ns, i) => i === 0 || ns > (times[i - 1] ?? 0n)),
    times.join(" "),
  );
});
