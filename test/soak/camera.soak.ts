import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { type Camera, startCamera } from "../camera.fixture.ts";
import { collector, compiledLaunch, start } from "../graph.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

let camera: Camera;
after(() => camera?.kill());

test("the graph keeps running while its camera is killed, restarted, frozen and thawed", {
  timeout: rounds(240_000, 1_800_000),
}, async () => {
  const begunMs = Date.now();
  camera = await startCamera();
  const { url } = camera;
  const port = Number(new URL(url).port);
  const watch = new Watch();
  const times: bigint[] = [];
  const captures: bigint[] = [];
  const gaps: number[] = [];
  const sink = collector((frame) => {
    if (frame.discontinuity && times.length > 0) gaps.push(times.length);
    times.push(frame.ptsNs ?? -1n);
    captures.push(frame.captureNs);
    watch.check();
  });
  const states: string[] = [];
  const onEvent = (event: GraphEvent): void => {
    if (event.type === "element") states.push(String(event.event.state));
    if (event.type === "state") states.push(event.state);
    watch.check();
  };
  const line = `source uri="${url}" stall-ms=1000 give-up-seconds=60 ! decode ! stage ! collect`;
  const graph = await start(compiledLaunch(line, sink), [sink], { onEvent });
  const { pipeline } = graph;
  const flows = (what: string) => {
    const before = times.length;
    return watch.until(`frames ${what}`, () => times.length >= before + 15);
  };
  const lost = (what: string) => {
    const before = states.filter((state) => state === "lost").length;
    return watch.until(`the loss of ${what}`, () => states.filter((state) => state === "lost").length > before);
  };

  await flows("at first");
  const total = rounds(1, 8);
  for (let round = 0; round < total; round++) {
    const killed = lost("a killed camera");
    await camera.kill();
    await killed;
    camera = await startCamera({ port });
    await flows("after a restart");

    const frozen = lost("a frozen camera");
    camera.freeze();
    await frozen;
    camera.thaw();
    await flows("after a thaw");
    progress("camera", round + 1, total);
  }

  assert.equal(graph.pipeline, pipeline, "the main pipeline was not replaced");
  assert.equal(graph.state, "running");
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
  const back = times.filter((pts, index) => index > 0 && pts <= (times[index - 1] as bigint));
  assert.deepEqual(back, [], "PTS increase strictly");
  const earlier = captures.filter((time, index) => index > 0 && time < (captures[index - 1] as bigint));
  assert.deepEqual(earlier, [], "capture times do not decrease");
  const taken = captures.map((time) => Number(time / 1_000_000n));
  const early = taken.filter((timeMs) => timeMs < begunMs);
  assert.deepEqual(early, [], "no capture time before the start of the camera");
  assert.ok((taken.at(-1) ?? 0) <= Date.now(), "no capture time in the future");
  assert.ok(gaps.length >= 2 * total, `gaps are marked: ${gaps.length} of ${2 * total}`);
});

test("a camera that does not return ends the graph with the reason, within its limit", {
  timeout: 120_000,
}, async () => {
  const lost = await startCamera();
  const watch = new Watch();
  let frames = 0;
  const sink = collector(() => {
    frames++;
    watch.check();
  });
  const line = `source uri="${lost.url}" stall-ms=500 give-up-seconds=2 ! decode ! stage ! collect`;
  const graph = await start(compiledLaunch(line, sink), [sink]);
  await watch.until("first frames", () => frames > 3);
  await lost.kill();
  const { state, error } = await graph.ended;
  assert.equal(state, "failed");
  assert.match(error?.message ?? "", /^source: cannot play rtsp:\/\/127\.0\.0\.1:\d+\/cam: /);
});
