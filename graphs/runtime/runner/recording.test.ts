/** Files that follow each other while a graph runs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/graph.fixture.ts";
import { HostedRunner } from "./hosted-runner.fixture.ts";
import { SENT } from "./sent.fixture.ts";

const FRAMES = 75;

const countFrames = (file: string): number =>
  Number(
    execFileSync("ffprobe", [
      ...["-v", "error", "-count_frames", "-select_streams", "v:0"],
      ...["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", file],
    ]).toString(),
  );

test("overlapping recordings lose no frame between them", async () => {
  const folder = temporaryFolder();
  const [first, second] = [join(folder, "0.mp4"), join(folder, "1.mp4")];
  const runner = new HostedRunner();
  await runner.start({
    ...{ graph: "sent", graphText: SENT, sourceUri: `test:ball?width=64&height=48&fps=25&seconds=${FRAMES / 25}` },
    attach: [{ id: "recording", slot: "recording", params: { path: first } }],
  });
  // The first frame has been passed on to all branches, that of the recording included.
  await runner.watch.until("two messages", () => runner.messages.length >= 2);
  await runner.ask({ type: "attach", attachment: "recording-next", slot: "recording", params: { path: second } });
  await runner.ask({ type: "detach", attachment: "recording" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  const [early, late] = [countFrames(first), countFrames(second)];
  assert.ok(early < FRAMES && late < FRAMES && early > 0 && late > 0, `${early} and ${late}: each has a part`);
  assert.ok(early + late >= FRAMES, `${early} and ${late} of ${FRAMES}`);
});

test("a recording that cannot be written is detached and reported, and the run continues to its end", async () => {
  const runner = new HostedRunner();
  const full = { slot: "recording", params: { path: "/dev/full" }, isExpendable: true };
  await runner.start({
    ...{ graph: "sent", graphText: SENT, sourceUri: `test:ball?width=64&height=48&fps=25&seconds=${FRAMES / 25}` },
    attach: [{ id: "recording", ...full }],
  });
  await runner.until("flowing");
  const isFailed = (id: string) =>
    runner.until("attachment", ({ attachment, status }) => attachment === id && status === "failed");
  assert.match((await isFailed("recording")).detail ?? "", /space left/);
  await runner.ask({ type: "detach", attachment: "recording" });
  await runner.ask({ type: "attach", attachment: "recording-next", ...full });
  await isFailed("recording-next");
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  assert.equal(runner.messages.length, FRAMES, "every frame has its line");
});
