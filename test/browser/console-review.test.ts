/** Review in the console: a recorded stream with people, its alert without a destination, and what is left of both. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import type { DetectionMessage } from "../../client/client.ts";
import type { NoticeRecord } from "../../schemas/api/notices.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { EVERY, goTo, makeCampus, photograph, signIn, untilPage } from "./console-visitor.fixture.ts";
import { checkEdges, keepShown, measureDistance, type ShownFrame, Viewer } from "./live-view.fixture.ts";

const run = promisify(execFile);
const folder = temporaryFolder();
const clip = await makeCampus(folder);
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");
const FRAMES = 16;
/** Of the clip. */
const FPS = 5;
const SHOWN_MS = (FRAMES * 1000) / FPS;
/** Few of those that it has: a busy browser skips some. */
const FILE_FRAMES = 8;
/** On as many frames inference has run when the stream ends. */
const MESSAGES = 24;

const [service, browser] = await Promise.all([TestService.start(), openBrowser()]);
const { rtsp = "" } = await service.serving.event("ready");
const { username } = await service.expect<{ username: string }>(200, "GET", "/user_info");

let page: Page;
let publisher: ChildProcess | undefined;
let viewer: Viewer | undefined;
let source: SourceRecord;
let processUuid = "";

before(async () => {
  page = await signIn(browser, service.url);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
});
after(async () => {
  viewer?.stop();
  publisher?.kill("SIGKILL");
  await browser.close();
  await service.close();
});

/** Each step continues where the one before it ended: after a failure, the others are skipped. */
let isBroken = false;
function step(name: string, body: (context: TestContext) => unknown): void {
  test(name, { skip }, async (context) => {
    if (isBroken) return context.skip("an earlier step failed");
    isBroken = true;
    await body(context);
    isBroken = false;
  });
}

const readNotices = async (): Promise<readonly NoticeRecord[]> =>
  (await service.expect<{ notices: NoticeRecord[] }>(200, "GET", `/notices?source=${source.uuid}`)).notices;
const line = () => page.getByRole("slider", { name: "Time line of Campus" });
const clock = () => page.getByLabel("Current time").innerText();
const shownTime = () => page.locator("figure.live canvas").getAttribute("data-timestamp");

async function readMessages(uuid: string): Promise<ReadonlyMap<string, DetectionMessage>> {
  const { text } = await service.send("GET", `/process/${uuid}/detections`, {});
  const messages = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as DetectionMessage]));
  return new Map(messages.map((message) => [message.timestamp, message]));
}

/** The message with the most messages in the frames that follow it: inference on a busy machine does not keep up everywhere. */
function findDense(timestamps: readonly string[]): string {
  const times = timestamps.map((timestamp) => Date.parse(timestamp));
  const lastMs = times.at(-1) ?? 0;
  const countFrom = (ms: number): number => times.filter((time) => time >= ms && time < ms + SHOWN_MS).length;
  // Not at the end of the recording, where nothing follows.
  const counts = times.map((ms) => (ms + SHOWN_MS <= lastMs ? countFrom(ms) : 0));
  return timestamps[counts.indexOf(Math.max(...counts))] ?? assert.fail("no messages");
}

/** The boxes on frames on which inference ran are those of their messages. */
async function checkBoxes(shown: readonly ShownFrame[], messages: ReadonlyMap<string, DetectionMessage>) {
  const total = { inferred: 0, boxes: 0, seen: 0, right: 0 };
  for (const { timestamp, tracks } of shown) {
    const message = messages.get(timestamp);
    if (message === undefined || tracks === "") continue;
    total.inferred += 1;
    assert.equal(Number(tracks), message.active_tracks.length);
    for (const { trackId, seen, right } of await checkEdges(page, message)) {
      assert.ok(right >= seen * 0.6, `${timestamp}: ${right} of ${seen} points of track ${trackId}`);
      total.boxes += 1;
      total.seen += seen;
      total.right += right;
    }
  }
  return total;
}

/** Place of the selected one in the list, from 0. */
const currentNotice = (): Promise<number> =>
  page.evaluate("[...document.querySelectorAll('.notice-list button')].findIndex((one) => one.ariaCurrent)");

step("says what to do without sources, and on a day without a recording", async () => {
  await goTo(page, "Review").catch(() => {});
  await page.getByText("Nothing to review yet").waitFor();
  await photograph(page, "review-none");
  source = await service.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: "Campus", stream_type: "rtsp", input_url: `${rtsp}/${username}/campus` },
  });
  await page.reload();
  await page.getByText("Nothing was recorded on this day").waitFor();
  await page.getByText("No alert was triggered in this time").waitFor();
  await photograph(page, "review-empty");
});

step("an alert needs no destination: its notices appear in the console, and lead to their moment", async () => {
  const path = `${rtsp}/${username}/campus?api_key=${MASTER_KEY}`;
  const output = ["-c", "copy", "-rtsp_transport", "tcp", "-f", "rtsp", path];
  publisher = spawn("ffmpeg", ["-v", "error", "-re", "-i", clip ?? "", ...output], { stdio: "ignore" });
  await poll("a stream", async () => {
    const { status } = await service.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`);
    return status === "streaming";
  });
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
    json: { params: { every: EVERY } },
  });
  processUuid = started.process_uuid;
  viewer = new Viewer(service, processUuid);

  await goTo(page, "Alerts");
  await page.getByRole("link", { name: "New alert" }).click();
  await page
    .getByText("Notices appear on the pages Alerts and Review, and are kept there. No destination is needed.")
    .waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Person on the campus");
  await photograph(page, "alert-new-console");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "Alerts", level: 1 }).waitFor();
  await page.getByRole("table", { name: "Alerts" }).getByText("console only").waitFor();
  const notifications = page.getByRole("region", { name: "Notifications" });
  await notifications.getByText("triggered").first().waitFor();
  const [alert] = (await service.expect<{ alerts: { output: unknown[] }[] }>(200, "GET", "/alerts")).alerts;
  assert.deepEqual(alert?.output, []);
  await poll("analysed video", () => (viewer?.messages.size ?? 0) >= MESSAGES);
  await notifications.getByRole("link", { name: "Review" }).last().click();
  await page.getByRole("region", { name: "Selected notice" }).getByText("Person on the campus").waitFor();
  await line().waitFor();
  await untilPage(page, "document.querySelector('figure.live canvas')?.dataset.timestamp !== undefined");
  const [oldest] = (await readNotices()).slice(-1);
  assert.ok(Math.abs(Date.parse((await shownTime()) ?? "") - Date.parse(oldest?.timestamp ?? "")) < 3_000);
});

step("boxes of the recording lie on the objects of the frame that is shown", async (context) => {
  publisher?.kill("SIGKILL");
  await once(publisher as ChildProcess, "exit");
  await service.expect(200, "DELETE", `/process/${processUuid}`);
  viewer?.stop();
  const messages = await readMessages(processUuid);
  const from = findDense([...messages.keys()]);
  await page.goto(`${service.url}/console/review?source=${source.uuid}&at=${from}`);
  await untilPage(page, "document.querySelector('figure.live canvas')?.dataset.timestamp !== undefined");
  await page.keyboard.press(" ");
  const shown = await keepShown(page, FRAMES);
  const times = [...(viewer?.pictures.keys() ?? [])].sort();
  const total = await checkBoxes(shown, messages);
  const likeness = { compared: 0, same: 0 };
  for (const { timestamp } of shown) {
    const message = messages.get(timestamp);
    // Of the live pictures around it, the one of the same time is the most similar.
    const place = times.indexOf(timestamp);
    if (place === -1 || message === undefined || message.active_tracks.length === 0) continue;
    const around = times.slice(Math.max(0, place - 3), place + 4);
    const distances = await Promise.all(
      around.map((time) => measureDistance(page, message, viewer?.pictures.get(time) ?? new Uint8Array())),
    );
    likeness.compared += 1;
    if (around[distances.indexOf(Math.min(...distances))] === timestamp) likeness.same += 1;
  }
  context.diagnostic(`${shown.length} frames: ${JSON.stringify({ ...total, ...likeness })}`);
  assert.ok(total.inferred >= 3, `${total.inferred} of ${shown.length} frames have a message`);
  assert.ok(total.boxes >= 6, `${total.boxes} boxes`);
  assert.ok(total.right > total.seen * 0.9, `${total.right} of ${total.seen} points`);
  assert.ok(
    likeness.compared > 0 && likeness.same > likeness.compared * 0.7,
    `${likeness.same} of ${likeness.compared} frames`,
  );
});

step("plays to the end of the recording, and is moved by keys", async () => {
  await page.getByRole("figure").getByText("The recording ends here.").waitFor();
  await photograph(page, "review");
  const before = await shownTime();
  await page.keyboard.press("ArrowLeft");
  await untilPage(page, `document.querySelector('figure.live canvas').dataset.timestamp < ${JSON.stringify(before)}`);
  await page.getByRole("list", { name: "Notices" }).getByRole("button").nth(1).click();
  await page.getByRole("region", { name: "Selected notice" }).getByText("Person on the campus").waitFor();
  await page.keyboard.press("p");
  await poll("the one before", async () => (await currentNotice()) === 2);
  await page.keyboard.press("n");
  await poll("the next one", async () => (await currentNotice()) === 1);
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  const place = await poll("a recorded place", () => findRecorded());
  await line().hover({ position: { x: place, y: 30 } });
  await page.locator(".hover-card img").waitFor();
  await photograph(page, "review-hover");
  await page.mouse.wheel(0, -600);
  const drawn = Number(await line().getAttribute("data-drawn"));
  await page.keyboard.press("0");
  await untilPage(page, `Number(document.querySelector('.review-lines canvas').dataset.drawn) > ${drawn}`);
  await page.keyboard.press("b");
  assert.equal(await page.getByRole("button", { name: "Boxes" }).getAttribute("aria-pressed"), "false");
  await page.keyboard.press("b");
});

step("marks a notice as reviewed by key and with a comment, filters, and deletes it", async () => {
  const panel = page.getByRole("region", { name: "Selected notice" });
  await page.keyboard.press("r");
  await panel.getByText("reviewed", { exact: true }).waitFor();
  const reviewed = (await readNotices()).filter((notice) => notice.reviewed);
  assert.equal(reviewed.length, 1);
  assert.equal(reviewed[0]?.reviewed_by, username);
  await panel.getByLabel("Comment").fill("Known visitor, n and r are letters here");
  await panel.getByRole("button", { name: "Save comment" }).click();
  await page.getByRole("status").getByText("Reviewed").first().waitFor();
  await poll("the comment", async () =>
    (await readNotices()).find((one) => one.reviewed)?.comment?.startsWith("Known"),
  );
  const list = page.getByRole("list", { name: "Notices" });
  const count = await list.getByRole("button").count();
  await page.getByRole("combobox", { name: "Review" }).selectOption({ label: "To review" });
  await poll("a shorter list", async () => (await list.getByRole("button").count()) === count - 1);
  await page.getByRole("combobox", { name: "Review" }).selectOption({ label: "Any state" });
  await photograph(page, "review-notice");
  await panel.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await panel.waitFor({ state: "detached" });
  await poll("one less", async () => (await list.getByRole("button").count()) === count - 1);
});

step("exports a clip, and shares a link to the moment", async () => {
  await list0();
  await page.getByRole("button", { name: "Copy link" }).click();
  const link = String(await page.evaluate("navigator.clipboard.readText()"));
  assert.match(link, /\/console\/review\?source=.+&at=/);
  await page.keyboard.press("e");
  await photograph(page, "review-export");
  const dialog = page.getByRole("dialog");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export" }).click(),
  ]);
  assert.match(file.suggestedFilename(), /^Campus.*\.mp4$/);
  assert.equal(await file.failure(), null);
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Export" }).click();
  // Short: it is encoded.
  const from = await dialog.getByLabel("From").inputValue();
  const to = new Date(Date.parse(`${from}Z`) + 3_000).toISOString().slice(0, -1);
  await dialog.getByLabel("To", { exact: true }).fill(to);
  await dialog.getByLabel("Draw the detections").check();
  await dialog.getByLabel("Create a link").check();
  await dialog.getByRole("button", { name: "Export" }).click();
  const shared = await dialog.getByLabel("link", { exact: true }).innerText();
  await photograph(page, "review-shared");
  const answer = await fetch(shared);
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "video/mp4"], "without a key");
  assert.equal(Buffer.from(await answer.arrayBuffer()).toString("latin1", 4, 8), "ftyp");
  await dialog.getByRole("button", { name: "Done" }).click();
  const other = await signIn(browser, link.split("/console")[0] ?? "", { page: link.split("/console/")[1] ?? "" });
  await untilPage(other, "document.querySelector('figure.live canvas')?.dataset.timestamp !== undefined");
  assert.equal(await other.getByLabel("Current time").innerText(), await clock());
  await other.close();
});

/** A pixel of the time line below which something is recorded. */
const findRecorded = (): Promise<number | null> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector(".review-lines canvas");
    const scale = canvas.width / canvas.clientWidth;
    const context = canvas.getContext("2d");
    const accent = getComputedStyle(canvas).getPropertyValue("--accent").trim();
    const probe = new OffscreenCanvas(1, 1).getContext("2d");
    probe.fillStyle = accent;
    probe.fillRect(0, 0, 1, 1);
    const wanted = probe.getImageData(0, 0, 1, 1).data;
    const row = context.getImageData(0, Math.round(22 * scale), canvas.width, 1).data;
    const found = [];
    for (let i = 0; i < canvas.width; i++) if ([0, 1, 2].every((j) => row[i * 4 + j] === wanted[j])) found.push(i);
    return found.length < 4 ? null : found[found.length >> 1] / scale;
  })()`);

/** Selects the first of the list. */
async function list0(): Promise<void> {
  await page.getByRole("list", { name: "Notices" }).getByRole("button").first().click();
  await page.getByRole("region", { name: "Selected notice" }).waitFor();
  await untilPage(page, "document.querySelector('figure.live .busy') === null");
}

step("a file has the time line of its video, with boxes at its seconds", async (context) => {
  const file = join(folder, "short.mp4");
  await run("ffmpeg", ["-v", "error", "-i", clip ?? "", "-t", "6", "-c", "copy", file]);
  const { uuid } = await uploadVideo(service, file, { alias: "Campus file" });
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${uuid}`, {
    json: { params: { every: EVERY } },
  });
  await poll("the end of the process", async () => {
    const { state } = await service.expect<{ state: string }>(200, "GET", `/process/${started.process_uuid}`);
    return state === "finished";
  });
  const messages = await readMessages(started.process_uuid);
  await page.goto(`${service.url}/console/review?source=${uuid}&at=0.5`);
  await untilPage(page, "document.querySelector('figure.live canvas')?.dataset.timestamp !== undefined");
  await page.keyboard.press(" ");
  const total = await checkBoxes(await keepShown(page, FILE_FRAMES), messages);
  context.diagnostic(JSON.stringify(total));
  assert.ok(total.boxes >= 3, `${total.boxes} boxes`);
  assert.ok(total.right > total.seen * 0.9, `${total.right} of ${total.seen} points`);
  await page.getByRole("button", { name: "Whole video" }).click();
  assert.match(await clock(), /^0:0\d$/);
});

step("works on a phone", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await untilPage(page, "document.documentElement.scrollWidth <= window.innerWidth");
  await page.getByRole("slider", { name: "Time line of Campus file" }).scrollIntoViewIfNeeded();
  if (process.env.SCREENSHOTS !== undefined)
    await page.screenshot({ path: "build/screenshots/review-390.png", fullPage: true });
});

step("pages send requests only to the service, and do not violate their security policy", () => {
  const foreign = browser.requested.filter((url) => !url.startsWith(service.url) && !/^(blob|data):/.test(url));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
  assert.deepEqual(
    browser.failed.filter((url) => url.includes("/detections")),
    [],
    "no request is aborted while its answer is used",
  );
  assert.ok(!browser.requested.some((url) => url.includes(MASTER_KEY)), "no address contains the key");
});
