/** Video that is sent away while a graph runs, to a real hub. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { ForkedHub } from "../../../hub/hub.fixture.ts";
import { monotonicMs } from "../../../ipc/monotonic.ts";
import { temporaryFolder } from "../../../test/graph.fixture.ts";
import { HostedRunner } from "./hosted-runner.fixture.ts";
import { ForkedRunner, type TestRunner } from "./runner.fixture.ts";
import { SENT } from "./sent.fixture.ts";

const SECRET = "run_sesame";

const hub = await ForkedHub.open();
after(() => hub.remove());
const urlOf = async (path: string): Promise<string> => (await hub.rtsp(path)).replace("//", `//run:${SECRET}@`);
const published = (path: string) => hub.next("published", ({ stream }) => stream.path === path);

async function startRunner<T extends TestRunner>(runner: T, size: string, more: object = {}): Promise<T> {
  const job = { graph: "sent", graphText: SENT, sourceUri: `test:ball?${size}&fps=25` };
  await runner.start({ ...job, ...more });
  await runner.until("flowing");
  return runner;
}

const of = (runner: TestRunner, attachment: string) =>
  runner.of("attachment").filter((message) => message.attachment === attachment);

/** What a busy machine drops while it connects is another matter. */
function droppedWhileLive(runner: TestRunner, attachment: string): number {
  const live = of(runner, attachment).filter(({ status }) => status === "live");
  return (live.at(-1)?.framesDropped ?? assert.fail()) - (live[0]?.framesDropped ?? 0);
}

test("reports outputs from the start and later ones, without secrets", async () => {
  const url = await urlOf("anna/early");
  const runner = await startRunner(new ForkedRunner(), "width=64&height=48", {
    attach: [{ id: "early", slot: "rtsp", params: { url } }],
  });
  await published("anna/early");
  const late = { url: await urlOf("anna/late"), resolution: "360p" };
  await runner.ask({ type: "attach", attachment: "late", slot: "rtsp", params: late });
  await published("anna/late");
  for (const name of ["early", "late"]) {
    const counts = () => of(runner, name).map(({ framesSent }) => framesSent);
    await runner.watch.until(`counts of ${name}`, () => (counts().at(-1) ?? 0) > (counts().find((n) => n > 0) ?? 1e9));
    assert.deepEqual([...new Set(of(runner, name).map(({ status }) => status))], ["starting", "live"]);
    assert.equal(droppedWhileLive(runner, name), 0);
  }
  for (const format of ["json", "dot", "mermaid", "launch"] as const) {
    const shown = JSON.stringify(await runner.ask({ type: "describe", format }));
    if (format === "json") assert.match(shown, /rtsp:\/\/\*\*\*@127\.0\.0\.1/);
    assert.ok(!shown.includes(SECRET), format);
  }
  await runner.ask({ type: "detach", attachment: "late" });
  await hub.next("unpublished", ({ path }) => path === "anna/late");
  const count = of(runner, "late").length;
  const seen = runner.of("progress").length;
  await runner.watch.until("two seconds", () => runner.of("progress").length >= seen + 2);
  assert.equal(of(runner, "late").length, count, "a detached output is still reported");
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
  await hub.next("unpublished", ({ path }) => path === "anna/early");
  assert.ok(!(JSON.stringify(runner.received) + runner.stderr).includes(SECRET));
});

test("external outputs end with the lease, by the runner's own clock, and return with it", async () => {
  const params = { url: await urlOf("anna/leased") };
  const runner = await startRunner(new HostedRunner(), "width=64&height=48", {
    leaseUntilMs: monotonicMs() + 600_000,
    attach: [{ id: "leased", slot: "rtsp", params, isExternal: true }],
  });
  await published("anna/leased");
  const isLate = hub.next("unpublished", ({ path }) => path === "anna/leased");
  runner.send({ type: "lease", untilMs: monotonicMs() + 500 });
  await isLate;
  // Detection continues.
  const seen = runner.messages.length;
  await runner.watch.until("messages", () => runner.messages.length > seen + 10);
  // What is attached meanwhile waits, too.
  await runner.ask({
    ...{ type: "attach", attachment: "waiting", slot: "rtsp", params: { url: await urlOf("anna/waiting") } },
    isExternal: true,
  });
  assert.equal(
    (await runner.reply({ type: "attach", attachment: "leased", slot: "rtsp", params })).error?.kind,
    "wrong_state",
  );
  runner.send({ type: "lease", untilMs: monotonicMs() + 600_000 });
  await published("anna/waiting");
  const isLeased = ({ stream }: { stream: { path: string } }) => stream.path === "anna/leased";
  await hub.next("published", (message) => isLeased(message) && hub.all("published").filter(isLeased).length === 2);
  await runner.ask({ type: "detach", attachment: "leased" });
  await runner.ask({ type: "stop" });
  assert.deepEqual(await runner.exited, [0, null], runner.stderr);
});

test("a slow branch drops frames of its own, reports them, and does not affect other branches", async () => {
  const runner = await startRunner(new HostedRunner(), "width=64&height=48");
  await runner.ask({ type: "attach", attachment: "slow", slot: "slow", params: { url: await urlOf("anna/slow") } });
  await runner.ask({ type: "attach", attachment: "fast", slot: "rtsp", params: { url: await urlOf("anna/fast") } });
  await runner.until("attachment", (message) => message.attachment === "slow" && message.framesDropped > 20);
  await runner.until("attachment", (message) => message.attachment === "fast" && message.framesSent > 20);
  assert.equal(of(runner, "slow").at(-1)?.status, "live");
  assert.equal(droppedWhileLive(runner, "fast"), 0);
  await runner.ask({ type: "stop" });
  await runner.exited;
  assert.equal(runner.of("progress").at(-1)?.stats.frames_dropped, 0);
});

for (const [size, resolution, shown] of [
  ["width=1920&height=1080", "360p", [640, 360]],
  ["width=321&height=181", null, [320, 180]],
  ["width=320&height=180", "1080p", [320, 180]],
  ["width=606&height=1080", "720p", [404, 720]],
] as const)
  test(`${size} is sent at ${resolution ?? "its own size"} as ${shown.join("×")}`, async () => {
    const path = `anna/${size.replaceAll(/\W/g, "")}`;
    const params = { url: await urlOf(path), resolution };
    const runner = await startRunner(new HostedRunner(), size, { attach: [{ id: "sized", slot: "rtsp", params }] });
    const { stream } = await published(path);
    assert.deepEqual([stream.width, stream.height], shown);
    await runner.ask({ type: "stop" });
    await runner.exited;
  });

test("writes a recording without revealing its path", async () => {
  const path = join(temporaryFolder(), "0.mp4");
  const runner = await startRunner(new ForkedRunner(), "width=64&height=48", {
    attach: [{ id: "rec", slot: "recording", params: { path } }],
  });
  for (const format of ["json", "dot", "mermaid", "launch"] as const) {
    const shown = JSON.stringify(await runner.ask({ type: "describe", format }));
    if (format === "json") assert.match(shown, /"0\.mp4"/);
    assert.ok(!shown.includes(path), format);
  }
  const seen = runner.messages.length;
  await runner.watch.until("frames", () => runner.messages.length > seen + 50);
  runner.child.kill("SIGKILL");
  await runner.exited;
  const counted = execFileSync("ffprobe", [
    ...["-v", "error", "-count_packets", "-select_streams", "v:0"],
    ...["-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", path],
  ]);
  // All but the second that was in the making.
  assert.ok(Number(counted) >= 25, String(counted));
});

test("rejects an output with an invalid address, without revealing it", async () => {
  const runner = await startRunner(new HostedRunner(), "width=64&height=48");
  const params = { url: `rtsp://run:${SECRET}@host:99999/x` };
  await assert.rejects(
    runner.ask({ type: "attach", attachment: "bad", slot: "rtsp", params }),
    /expected a URL of the form rtsp/,
  );
  await runner.ask({ type: "stop" });
  assert.ok(!JSON.stringify(runner.received).includes(SECRET));
});
