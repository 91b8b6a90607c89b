/** Alerts and webhooks of the console, with a real broker and a real receiver, on people of a real clip. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import { HeadlessBrowser } from "../../tools/bench/media/browser.ts";
import { TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { EVERY, goTo, photograph, signIn, untilPage } from "./console-visitor.fixture.ts";

const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

const [service, browser, broker] = await Promise.all([TestService.start(), HeadlessBrowser.open(), openMosquitto()]);
after(async () => {
  await browser.close();
  await service.close();
});

const watch = new Watch();

/** Keeps the bodies of what it is called with. */
async function openReceiver(): Promise<{ readonly url: string; readonly bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    bodies.push(body);
    response.end();
    watch.look();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, bodies };
}

/** Each test has a process of its own: on a slow machine the clip is over before the last one begins. */
async function withProcess(work: (uuid: string) => Promise<void>): Promise<void> {
  const source = await uploadVideo(service, clip ?? "", { alias: "Campus" });
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
    json: { params: { every: EVERY } },
  });
  await work(started.process_uuid);
  await service.call("DELETE", `/process/${started.process_uuid}`);
}

const run = (work: (uuid: string) => Promise<void>) => () => withProcess(work);

const readAlerts = async (): Promise<readonly AlertRecord[]> =>
  (await service.expect<{ alerts: AlertRecord[] }>(200, "GET", "/alerts")).alerts;

type Point = readonly [x: number, y: number];

/** By the hand of somebody who sees the picture. */
async function pointAt(frame: Locator, [x, y]: Point): Promise<Point> {
  await frame.scrollIntoViewIfNeeded();
  const box = (await frame.boundingBox()) ?? assert.fail("there is no frame");
  return [box.x + x * box.width, box.y + y * box.height];
}

async function click(page: Page, frame: Locator, point: Point): Promise<void> {
  await page.mouse.click(...(await pointAt(frame, point)));
}

async function drag(page: Page, frame: Locator, from: Point, to: Point): Promise<void> {
  await page.mouse.move(...(await pointAt(frame, from)));
  await page.mouse.down();
  await page.mouse.move(...(await pointAt(frame, to)), { steps: 3 });
  await page.mouse.up();
}

async function touch(page: Page, frame: Locator, from: Point, to: Point): Promise<void> {
  const [[startX, startY], [endX, endY]] = [await pointAt(frame, from), await pointAt(frame, to)];
  const hand = await page.context().newCDPSession(page);
  await hand.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x: startX, y: startY }] });
  await hand.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x: endX, y: endY }] });
  await hand.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

function assertNear(points: unknown, wanted: readonly Point[]): void {
  assert.ok(Array.isArray(points) && points.length === wanted.length, JSON.stringify(points));
  for (const [i, point] of wanted.entries())
    for (const axis of [0, 1] as const)
      assert.ok(Math.abs(points[i][axis] - point[axis]) <= 0.01, `${JSON.stringify(points)} is not ${wanted}`);
}

const ZONE: readonly Point[] = [
  [0.05, 0.1],
  [0.95, 0.1],
  [0.9, 0.97],
  [0.1, 0.9],
];

test(
  "a zone is drawn by mouse and finger, too few points are refused in words, and its notices come",
  { skip },
  run(async () => {
    const page = await signIn(browser, service.url, { page: "alerts" });
    await page.getByText("No alerts yet").waitFor();
    await photograph(page, "alerts-none");
    await page.getByRole("link", { name: "New alert" }).click();
    await page.getByRole("img", { name: "The picture of the process" }).waitFor();
    const frame = page.getByRole("group", { name: "The zone" });
    for (const point of ZONE.slice(0, 2)) await click(page, frame, point);
    await page.getByLabel("Name", { exact: true }).fill("Somebody is there");
    await page.getByRole("textbox", { name: "Broker" }).fill(`127.0.0.1:${broker.port}`);
    await page.getByLabel("Topic").fill("alerts/console");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("two points and needs at least three").waitFor();
    assert.deepEqual(await readAlerts(), [], "nothing was sent");
    await click(page, frame, [0.5, 0.5]);
    await drag(page, frame, [0.5, 0.5], ZONE[2] ?? [0, 0]);
    await touch(page, frame, [0.3, 0.7], ZONE[3] ?? [0, 0]);
    assert.equal(await page.getByRole("slider").count(), 4);
    await photograph(page, "alert-new-zone");

    const subscriber = await broker.connect();
    const told: string[] = [];
    subscriber.on("message", (_, bytes) => {
      told.push(String(bytes));
      watch.look();
    });
    await subscriber.subscribeAsync("alerts/console");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Alerts", level: 1 }).waitFor();
    const [alert] = await readAlerts();
    assert.deepEqual([alert?.alias, alert?.type], ["Somebody is there", "filter-search"]);
    assertNear(alert?.region.polygon, ZONE);
    const notices = page.getByRole("region", { name: "Notices" });
    await notices.getByText("triggered").first().waitFor();
    assert.match(await notices.innerText(), /Campus · [a-z ]+ \d+/);
    await watch.until("the broker is told, too", () => told.length > 0);
    await page.getByText(/[1-9]\d* delivered/).waitFor();
    await photograph(page, "alerts");
    await notices.getByRole("link", { name: "Campus" }).first().click();
    await page.getByRole("heading", { name: /Campus/, level: 1 }).waitFor();
    await notices.getByText("triggered").first().waitFor();
    await photograph(page, "process-notices");
    await page.close();
  }),
);

test(
  "a line shows which way is forward; it is moved by keys and by mouse, and changed later at once",
  { skip },
  run(async () => {
    const receiver = await openReceiver();
    const page = await signIn(browser, service.url, { page: "alerts/new" });
    await page.getByRole("combobox", { name: "Type" }).selectOption({ label: "A line is crossed (flow-control)" });
    await page.getByRole("img", { name: "The picture of the process" }).waitFor();
    const frame = page.getByRole("group", { name: "The line" });
    // The nearer end comes to where one clicks.
    await click(page, frame, [0.7, 0.1]);
    await page.getByRole("slider", { name: "Point 1" }).focus();
    for (const key of ["ArrowRight", "Shift+ArrowRight", "Shift+ArrowUp", "ArrowDown"]) await page.keyboard.press(key);
    const arrow = page.locator(".forward");
    const before = await arrow.getAttribute("points");
    await page.getByRole("button", { name: "Turn it round" }).click();
    await untilPage(page, `document.querySelector(".forward").getAttribute("points") !== ${JSON.stringify(before)}`);
    await page.getByRole("button", { name: "Turn it round" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Gate");
    await page
      .getByRole("combobox", { name: "On", exact: true })
      .selectOption({ label: "All processes, now and later" });
    await page.getByRole("combobox", { name: "Who is told" }).selectOption({ label: "A web address" });
    await page.getByLabel("Address", { exact: true }).fill(receiver.url);
    await page.getByLabel("Count", { exact: true }).fill("2");
    await page.getByRole("combobox", { name: "Direction" }).selectOption({ label: "forward" });
    await photograph(page, "alert-new-line");
    await page.getByRole("button", { name: "Create" }).click();
    const secret = page.getByRole("dialog").getByLabel("secret", { exact: true });
    assert.match(await secret.innerText(), /^whsec_/);
    await page.getByRole("button", { name: "Done" }).click();
    const [made] = await readAlerts();
    assertNear(made?.region.line, [
      [0.31, 0.51],
      [0.7, 0.1],
    ]);
    assert.deepEqual([made?.trigger.count, made?.trigger.direction], [2, "forward"]);
    assert.ok(!JSON.stringify(made).includes("whsec_"), "it is shown only once");

    await page.getByRole("link", { name: "Change Gate" }).click();
    await page.getByRole("img", { name: "The picture of the process" }).waitFor();
    assert.equal(await page.getByLabel("Count", { exact: true }).inputValue(), "2");
    await drag(page, frame, [0.7, 0.1], [0.6, 0.95]);
    await page.getByLabel("Count", { exact: true }).fill("1");
    await photograph(page, "alert-change");
    await page.getByLabel("Apply now").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("A change waits for the next start").waitFor();
    await page.getByRole("link", { name: "Change Gate" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("table", { name: "Alerts" }).waitFor();
    await page.getByText("A change waits for the next start").waitFor({ state: "hidden" });
    const changed = (await readAlerts()).find(({ alias }) => alias === "Gate");
    assert.deepEqual([changed?.pending, changed?.trigger.count, changed?.trigger.direction], [null, 1, "forward"]);
    assertNear(changed?.region.line, [
      [0.31, 0.51],
      [0.6, 0.95],
    ]);

    await page.getByRole("button", { name: "Switch off Gate" }).click();
    await page.getByRole("row", { name: /Gate/ }).getByText("inactive").waitFor();
    await page.getByRole("button", { name: "Switch on Gate" }).click();
    await page.getByRole("row", { name: /Gate/ }).getByText("active", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete Gate" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("row", { name: /Gate/ }).waitFor({ state: "detached" });
    assert.equal((await readAlerts()).length, 1);
    await page.close();
  }),
);

test(
  "a process has webhooks: subscribed, tried, delivered to and removed",
  { skip },
  run(async (process) => {
    const receiver = await openReceiver();
    const page = await signIn(browser, service.url);
    await goTo(page, "Webhooks");
    await page.getByText("Nobody is called yet").waitFor();
    await page.getByRole("button", { name: /^Subscribe to/ }).click();
    await page.getByLabel("Address", { exact: true }).fill(receiver.url);
    await page.getByRole("combobox", { name: "Event" }).selectOption("target-count");
    await page.getByLabel("Seconds between two calls, at least").fill("0.5");
    await photograph(page, "webhook-new");
    await page.getByRole("dialog").getByRole("button", { name: "Subscribe" }).click();
    const secret = page.getByRole("dialog").getByLabel("secret", { exact: true });
    assert.match(await secret.innerText(), /^whsec_/);
    await photograph(page, "webhook-secret");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: `Send a sample to ${receiver.url}` }).click();
    await page.getByText("The sample was delivered").waitFor();
    await watch.until("a sample", () => receiver.bodies.some((body) => JSON.parse(body).sample === true));
    await watch.until("a call", () => receiver.bodies.some((body) => JSON.parse(body).sample !== true));
    assert.equal(JSON.parse(receiver.bodies[0] ?? "").process_uuid, process);
    await page
      .getByRole("row", { name: /target-count/ })
      .getByText("delivered")
      .waitFor();
    await photograph(page, "webhooks");
    await page.getByRole("button", { name: `Remove ${receiver.url}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("Nobody is called yet").waitFor();
    await service.expect(200, "DELETE", `/process/${process}`);
    await page.getByText("No process runs").waitFor();
    await page.close();
  }),
);

test("nothing was asked of others, and no page broke its security policy", { skip }, () => {
  const foreign = browser.requested.filter((url) => !url.startsWith(service.url) && !/^(blob|data):/.test(url));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
});
