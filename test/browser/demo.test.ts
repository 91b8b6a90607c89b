/** The demo, from the option of the command to the first screen of the console, with a clip of two seconds. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { awaitGone, listDescendants, ServingFolder } from "../../cli/serve/serving.fixture.ts";
import { ApiError, Windhover } from "../../client/client.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY } from "../api/service.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";

const FRAMES = 20;
/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 120_000;

const folder = await ServingFolder.make();
const clip = join(folder.path, "clip.avi");
const env = {
  WINDHOVER_BOOTSTRAP_KEY: MASTER_KEY,
  WINDHOVER_DEMO_CLIP: clip,
  WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000",
};
const picture = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=10", "-frames:v", String(FRAMES)];
const [browser] = await Promise.all([
  openBrowser(),
  promisify(execFile)("ffmpeg", ["-loglevel", "error", ...picture, "-c:v", "mpeg4", clip]),
]);
after(async () => {
  await browser.close();
  await folder.close();
});

let serving = folder.serve({ env, args: ["--demo"] });
const clientOf = async () => new Windhover({ url: await serving.url(), apiKey: MASTER_KEY });
let windhover = await clientOf();
const demo = await serving.event("demo");

const until = (what: string, read: () => Promise<boolean>): Promise<boolean> =>
  poll(what, read, { describe: () => serving.errors });

let page: Page;
const untilPicture = () => page.waitForSelector("canvas[data-timestamp]", { timeout: LIMIT_MS });

test("`serve --demo` prints the console URL of the demo, and starting it again changes nothing", async () => {
  assert.equal((await serving.event("ready")).console, `${await serving.url()}/console`);
  assert.equal(demo.console, `${await serving.url()}/console/processes/${demo.process_uuid}`);
  const running = { source_uuid: demo.source_uuid, process_uuid: demo.process_uuid };
  assert.deepEqual(await windhover.startDemo(), running);
  assert.deepEqual(await windhover.readDemo(), { state: "running", ...running, detail: null });
  const [source, ...others] = (await windhover.listSources({})).sources;
  assert.deepEqual([source?.alias, source?.uuid, others], ["Demo: street", demo.source_uuid, []]);
  assert.deepEqual([source?.type, source?.loop, source?.status], ["file", true, "processing"]);
});

test("the clip loops: messages continue in order, in one run", async () => {
  const url = (await serving.url()).replace("http", "ws");
  const detections = await Detections.open(`${url}/process/${demo.process_uuid}/detection_data?api_key=${MASTER_KEY}`);
  const messages = await detections.next(FRAMES * 3);
  detections.close();
  const times = messages.map(({ timestamp }) => Date.parse(timestamp));
  for (const [index, time] of times.entries())
    if (index > 0) assert.ok(time > (times[index - 1] ?? 0), `${messages[index]?.timestamp} after the one before`);
  const { stats, reconnecting } = await windhover.readProcess({ process_uuid: demo.process_uuid ?? "" });
  assert.deepEqual([stats.restarts, stats.frames_lost, reconnecting], [0, null, false]);
});

test("continues after a killed server, without `--demo`", async () => {
  const children = listDescendants(serving.pid);
  await serving.stop("SIGKILL");
  assert.deepEqual(await awaitGone(children), []);
  serving = folder.serve({ env });
  windhover = await clientOf();
  await until("the demo runs again", async () => {
    const { state, process_uuid } = await windhover.readDemo();
    return state === "running" && process_uuid === demo.process_uuid;
  });
  await until("frames arrive again", async () => {
    const { stats } = await windhover.readProcess({ process_uuid: demo.process_uuid ?? "" });
    return stats.fps_in > 0;
  });
});

test("stopping the demo removes its source and process", async () => {
  const stopped = { deleted: true, uuid: demo.source_uuid };
  assert.deepEqual(await Promise.all([windhover.stopDemo(), windhover.stopDemo()]), [stopped, stopped]);
  assert.deepEqual((await windhover.listSources({})).sources, []);
  assert.deepEqual((await windhover.listProcesses({})).processes, []);
  await assert.rejects(windhover.stopDemo(), (error) => error instanceof ApiError && error.code === "demo_not_found");
});

test("one click on the first screen starts the demo, and the first screen then shows it", async () => {
  page = await browser.show(`${await serving.url()}/console`, { width: 1280, height: 800 });
  await page.fill("input[type=password]", MASTER_KEY);
  await page.keyboard.press("Enter");
  await page.click("text=Show me a demo");
  await untilPicture();
  const { process_uuid } = await windhover.readDemo();
  assert.equal(new URL(page.url()).pathname, `/console/processes/${process_uuid}`);
  await page.click(".brand");
  await page.waitForSelector("h1:text('Live')");
  await untilPicture();
  await page.click("nav >> text=Sources");
  await page.getByRole("link", { name: "Watch Demo: street" }).click();
  await page.waitForSelector("h1:text('Live')");
  await untilPicture();
  assert.deepEqual(browser.complaints, []);
  await windhover.stopDemo();
});

test("uploads a video that is played in a loop", async () => {
  await page.click("nav >> text=Sources");
  await page.getByRole("button", { name: "Upload a video" }).click();
  await page.getByLabel("File").setInputFiles(clip);
  await page.getByLabel("Play in a loop").check();
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByRole("cell", { name: "File, looped" }).waitFor();
  const [source] = (await windhover.listSources({})).sources;
  assert.deepEqual([source?.alias, source?.loop], ["clip.avi", true]);
  await windhover.deleteSource({ source_id: source?.uuid ?? "" });
});

test("reports a missing clip and leaves no source", async () => {
  await rm(clip);
  await assert.rejects(
    windhover.startDemo(),
    (error) =>
      error instanceof ApiError && error.code === "demo_unavailable" && /\(demo\.clip\).*ENOENT/.test(error.message),
  );
  assert.deepEqual((await windhover.listSources({})).sources, []);
});
