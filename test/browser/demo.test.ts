/** The demo, from the switch of the command to the first screen of the console: on a clip of half a second. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { Page } from "playwright-core";
import { awaitGone, listDescendants, ServingFolder } from "../../cli/serve/serving.fixture.ts";
import { ApiError, Windhover } from "../../client/client.ts";
import { makeClip } from "../../clips/clip.fixture.ts";
import { HeadlessBrowser } from "../../tools/bench/media/browser.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY } from "../api/service.fixture.ts";

const FRAMES = 5;
/** Not a measure of anything: only so that a hang becomes a failure. */
const LIMIT_MS = 120_000;

const folder = await ServingFolder.make();
const clip = join(folder.path, "clip.avi");
const env = {
  WINDHOVER_BOOTSTRAP_KEY: MASTER_KEY,
  WINDHOVER_DEMO_CLIP: clip,
  WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "1000000",
};
const [browser] = await Promise.all([HeadlessBrowser.open(), makeClip(clip, FRAMES)]);
after(async () => {
  await browser.close();
  await folder.close();
});

let serving = folder.serve({ env, args: ["--demo"] });
const clientOf = async () => new Windhover({ url: await serving.url(), apiKey: MASTER_KEY });
let windhover = await clientOf();
const demo = await serving.event("demo");

const publishersOf = (pid: number): readonly number[] =>
  listDescendants(pid).filter((child) => commandOf(child).includes("clips/clip.mjs"));

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

async function until<T>(what: string, look: () => Promise<T | false | null>): Promise<T> {
  for (const deadlineMs = performance.now() + LIMIT_MS; performance.now() < deadlineMs; await wait(50)) {
    const found = await look();
    if (found !== false && found !== null) return found;
  }
  throw new Error(`still waiting for: ${what}\n${serving.errors}`);
}

const untilPicture = (page: Page) => page.waitForSelector("canvas[data-timestamp]", { timeout: LIMIT_MS });

test("`serve --demo` says where the console shows it, and a demo that runs is left as it is", async () => {
  assert.equal((await serving.event("ready")).console, `${await serving.url()}/console`);
  assert.equal(demo.console, `${await serving.url()}/console/processes/${demo.process_uuid}`);
  const running = { source_uuid: demo.source_uuid, process_uuid: demo.process_uuid };
  assert.deepEqual(await windhover.startDemo(), running);
  assert.deepEqual(await windhover.readDemo(), { state: "running", ...running, detail: null });
  const [source, ...others] = (await windhover.listSources({})).sources;
  assert.deepEqual([source?.alias, source?.uuid, others], ["Demo: street", demo.source_uuid, []]);
});

test("the clip begins anew without a gap: pictures keep coming, in order, in one run", async () => {
  const url = (await serving.url()).replace("http", "ws");
  const detections = await Detections.open(`${url}/process/${demo.process_uuid}/detection_data?api_key=${MASTER_KEY}`);
  const messages = await detections.next(FRAMES * 4);
  detections.close();
  const times = messages.map(({ timestamp }) => Date.parse(timestamp));
  for (const [index, time] of times.entries())
    if (index > 0) assert.ok(time > (times[index - 1] ?? 0), `${messages[index]?.timestamp} after the one before`);
  const { stats, reconnecting } = await windhover.readProcess({ process_uuid: demo.process_uuid ?? "" });
  assert.deepEqual([stats.restarts, reconnecting], [0, false]);
});

test("its publisher has its right from nobody's command line, ends with a killed server, and comes back with the next", async () => {
  const children = listDescendants(serving.pid);
  const [publisher = 0, ...others] = publishersOf(serving.pid);
  assert.deepEqual([publisher > 0, others], [true, []]);
  assert.doesNotMatch(`${commandOf(publisher)}${readFileSync(`/proc/${publisher}/environ`, "utf8")}`, /run_|wh_0123/);
  await serving.stop("SIGKILL");
  assert.deepEqual(await awaitGone(children), []);
  serving = folder.serve({ env });
  windhover = await clientOf();
  await until("the demo runs again", async () => {
    const { state, process_uuid } = await windhover.readDemo();
    return state === "running" && process_uuid === demo.process_uuid;
  });
  await until("pictures come again", async () => {
    const { stats } = await windhover.readProcess({ process_uuid: demo.process_uuid ?? "" });
    return stats.fps_in > 0;
  });
});

test("a demo that is stopped leaves nothing behind", async () => {
  const publishers = publishersOf(serving.pid);
  assert.equal(publishers.length, 1);
  const stopped = { deleted: true, uuid: demo.source_uuid };
  assert.deepEqual(await Promise.all([windhover.stopDemo(), windhover.stopDemo()]), [stopped, stopped]);
  assert.deepEqual(await awaitGone(publishers), []);
  assert.deepEqual((await windhover.listSources({})).sources, []);
  assert.deepEqual((await windhover.listProcesses({})).processes, []);
  await assert.rejects(windhover.stopDemo(), (error) => error instanceof ApiError && error.code === "demo_not_found");
});

test("one click on the first screen leads to it, and the first screen is then a picture", async () => {
  const page = await browser.show(`${await serving.url()}/console`, { width: 1280, height: 800 });
  await page.fill("input[type=password]", MASTER_KEY);
  await page.keyboard.press("Enter");
  await page.click("text=Show me a demo");
  await untilPicture(page);
  const { process_uuid } = await windhover.readDemo();
  assert.equal(new URL(page.url()).pathname, `/console/processes/${process_uuid}`);
  await page.click(".brand");
  await page.waitForSelector("h1:text('Live')");
  await untilPicture(page);
  assert.deepEqual(browser.complaints, []);
  await windhover.stopDemo();
});

test("a clip that is not there is told in words, and leaves nothing", async () => {
  await rm(clip);
  await assert.rejects(
    windhover.startDemo(),
    (error) =>
      error instanceof ApiError && error.code === "demo_unavailable" && /\(demo\.clip\).*ENOENT/.test(error.message),
  );
  assert.deepEqual((await windhover.listSources({})).sources, []);
  assert.deepEqual(publishersOf(serving.pid), []);
});
