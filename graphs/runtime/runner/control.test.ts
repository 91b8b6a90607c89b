import assert from "node:assert/strict";
import { test } from "node:test";
import { PictureReader, type StreamedPicture } from "../../../schemas/picture-stream.ts";
import { PICTURES } from "../../../schemas/runner.ts";
import { Watch } from "../../../test/watch.fixture.ts";
import { HostedRunner } from "./hosted-runner.fixture.ts";
import { ForkedRunner } from "./runner.fixture.ts";

const pictures: StreamedPicture[] = [];
const seen = new Watch();
const runner = new ForkedRunner();
const reader = new PictureReader();
runner.child.stdio[PICTURES]?.on("data", (piece: Buffer) => {
  pictures.push(...reader.read(piece));
  seen.check();
});
await runner.start({ sourceUri: "test:ball?width=64&height=48" });
await runner.until("flowing");

test("sets live properties all or nothing, with the faults", async () => {
  const set = (nodes: Record<string, Record<string, unknown>>) => runner.ask({ type: "set", nodes });
  await assert.rejects(set({ print: { evry: 2 } }), /^Error: invalid: .*no property "evry".*did you mean "every"\?/);
  await assert.rejects(set({ prnt: { every: 2 } }), /^Error: invalid: .*no node "prnt".*did you mean "print"\?/);
  await assert.rejects(set({ print: { every: "soon" } }), /^Error: invalid: .*every.*expected/s);
  await assert.rejects(
    set({ source: { uri: "/etc/passwd" } }),
    /invalid: \/source\/uri cannot be changed while the process runs: the source changes/,
  );
  await assert.rejects(set({ print: { every: 5 }, decode: { max: 1 } }), /invalid/);
  await assert.rejects(set({ print: { keys: ["$every"], every: "$every" } }), /invalid/);
  const { error } = await runner.reply({
    type: "set",
    nodes: { nope: { a: 1 }, print: { every: "soon", zzz: "$1", keys: ["a"] }, "a/b": {} },
  });
  assert.deepEqual(
    error?.faults?.map(({ path, message }) => [path, /no node|no property|expected/.exec(message)?.[0]]),
    [
      ["/nope", "no node"],
      ["/print/every", "expected"],
      ["/print/zzz", "no property"],
      ["/a~1b", "no node"],
    ],
  );
  const fixed = await runner.reply({
    type: "set",
    nodes: { source: { uri: "test:snow", pace: "fast" }, print: { every: 5 } },
  });
  assert.deepEqual(
    fixed.error?.faults?.map(({ path }) => path),
    ["/source/uri", "/source/pace"],
  );
  assert.equal(countGaps(), 0, "a refused change left a trace");
  await set({ print: { every: 1000 } });
  const before = runner.messages.length;
  await set({ print: { every: 1, keys: ["$every"] } });
  await runner.watch.until("frames again", () => runner.messages.length > before + 3);
});

/** Frames that were skipped between two messages. */
function countGaps(): number {
  const frames = runner.messages.map(({ message }) => (JSON.parse(String(message.line)) as { frame: number }).frame);
  return frames.filter((frame, index) => index > 0 && frame !== (frames[index - 1] ?? 0) + 1).length;
}

test("describes the graph in four formats, with its attachments", async () => {
  await runner.ask({ type: "attach", attachment: "wall", slot: "feed", params: {} });
  await runner.ask({ type: "describe", format: "json" });
  // Steps are counted from the first request on.
  const before = runner.messages.length;
  await runner.watch.until("frames", () => runner.messages.length >= before + 5);
  const json = (await runner.ask({ type: "describe", format: "json" })) as {
    graph: string;
    segments: { name: string; steps: { step: string; frames: number }[] }[];
  };
  assert.equal(json.graph, "watched");
  assert.deepEqual(
    json.segments.map(({ name }) => name),
    ["main", "data", "feed:wall"],
  );
  assert.ok(json.segments[0]?.steps.some(({ step, frames }) => step === "decode" && frames > 0));
  assert.match(String(await runner.ask({ type: "describe", format: "dot" })), /^digraph "watched" \{.*feed:wall/s);
  assert.match(String(await runner.ask({ type: "describe", format: "mermaid" })), /^flowchart LR\n.*-->/s);
  assert.match(String(await runner.ask({ type: "describe", format: "launch" })), /^gst-launch-1\.0/);
  await runner.ask({ type: "detach", attachment: "wall" });
});

test("sends images while the feed is attached, with the time of the frame and the id of the attachment", async () => {
  pictures.length = 0;
  await runner.ask({ type: "attach", attachment: "screen", slot: "feed", params: {} });
  await assert.rejects(
    runner.ask({ type: "attach", attachment: "screen", slot: "feed", params: {} }),
    /wrong_state: "screen" is already attached/,
  );
  await seen.until("pictures", () => pictures.filter(({ attachment }) => attachment === "screen").length >= 3);
  const [first] = pictures.filter(({ attachment }) => attachment === "screen");
  assert.deepEqual([...(first?.bytes.subarray(0, 2) ?? [])], [0xff, 0xd8]);
  assert.ok(Math.abs(Date.now() - (first?.captureMs ?? 0)) < 600_000);
  await runner.ask({ type: "detach", attachment: "screen" });
  await assert.rejects(runner.ask({ type: "detach", attachment: "screen" }), /wrong_state/);
});

test("rejects slots that the graph lacks, by name", async () => {
  await assert.rejects(
    runner.ask({ type: "attach", attachment: "x", slot: "fed", params: {} }),
    /graph_lacks: graph "watched" has no slot "fed"; it has feed/,
  );
  await assert.rejects(
    runner.ask({ type: "attach", attachment: "a b", slot: "feed", params: {} }),
    /invalid: .*cannot be named/,
  );
  await assert.rejects(
    runner.ask({ type: "attach", attachment: "y", slot: "feed", params: { sise: 1 } }),
    /invalid: .*sise/,
  );
  assert.equal(await runner.ask({ type: "deliver", channel: "telemetry", message: { timestamp: 1 } }), 0);
});

test("answers requests in order, and ignores signals of the terminal", async () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) runner.child.kill(signal);
  const replies = await Promise.all([
    runner.reply({ type: "pause" }),
    runner.reply({ type: "describe", format: "dot" }),
    runner.reply({ type: "resume" }),
  ]);
  assert.deepEqual(
    replies.map(({ error }) => error),
    [null, null, null],
  );
  // A stop does not wait: earlier requests are done or rejected, and answered before it.
  await Promise.all([runner.reply({ type: "pause" }), runner.reply({ type: "stop" })]);
  const ids = runner.of("reply").map(({ id }) => id);
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => a - b),
  );
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
});

test("applies live properties of the job from the first frame on", async () => {
  const other = new HostedRunner();
  await other.start({ sourceUri: "test:ball?width=64&height=48&frames=8", live: { print: { every: 3 } } });
  await other.exited;
  const frames = other.messages.map(({ message }) => (JSON.parse(String(message.line)) as { frame: number }).frame);
  assert.equal(other.states.at(-1), "finished");
  assert.deepEqual(
    frames.map((frame) => frame - (frames[0] ?? 0)),
    [0, 3, 6],
  );
});
