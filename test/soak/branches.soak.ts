import assert from "node:assert/strict";
import { test } from "node:test";
import { collector, compiledText, start } from "../graph.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

const GRAPH = `
graph: branches
about: A main chain that must not lose a frame while slots are attached and detached.
chains:
  main:
    - source: { uri: "test:ball?width=320&height=180&fps=50", pace: realtime }
    - decode
    - tee: { name: frames }
  data:
    - from: frames
    - queue
    - collect
slots:
  video:
    params: { path: { type: string } }
    chain:
      - from: frames
      - stage
      - encode
      - fakesink: { sync: false, async: false }
`;

test("attaching and detaching slots loses no frame on the main chain", {
  timeout: rounds(240_000, 1_800_000),
}, async () => {
  const times: bigint[] = [];
  const sink = collector((frame) => {
    times.push(frame.ptsNs ?? -1n);
  });
  const graph = await start(compiledText(GRAPH, sink), [sink]);
  const total = rounds(20, 200);
  for (let round = 0; round < total; round++) {
    const name = await graph.attach("video", { path: "" });
    // Detach at once or after some frames, one or two slots.
    const second = round % 4 === 0 ? await graph.attach("video", { path: "" }) : null;
    const until = times.length + (round % 3) * 4;
    while (times.length < until) await new Promise((resolve) => setImmediate(resolve));
    await graph.detach(name);
    if (second !== null) await graph.detach(second);
    progress("branches", round + 1, total);
  }
  const result = await graph.stop();
  assert.deepEqual(result, { state: "finished", error: null });
  const wrong = times.filter((pts, index) => pts !== BigInt(index) * 20_000_000n);
  assert.deepEqual(wrong, [], `${times.length} frames, ${wrong.length} with a wrong PTS`);
  assert.ok(times.length > total, "too few frames");
});
