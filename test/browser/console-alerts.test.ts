/** Alerts and webhooks in the console, with a real broker and a real receiver, on a clip with people. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import { TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { goTo, makeCampus, photograph, SLOW, signIn, untilPage } from "./console-visitor.fixture.ts";

const clip = await makeCampus(temporaryFolder(), SLOW.times);
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

const [service, browser, broker] = await Promise.all([TestService.start(), openBrowser(), openMosquitto()]);
const receivers: Server[] = [];
after(async () => {
  await browser.close();
  await service.close();
  for (const receiver of receivers) receiver.close();
});

const watch = new Watch();

/** Keeps the bodies of its requests. */
async function openReceiver(): Promise<{ readonly url: string; readonly bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.end();
    watch.check();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  receivers.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, bodies };
}

/** One for all tests: its clip is longer than they take. */
let started: Promise<string> | null = null;
async function start(): Promise<string> {
  const source = await uploadVideo(service, clip ?? "", { alias: "Campus" });
  const json = { params: { every: SLOW.every } };
  return (await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json }))
    .process_uuid;
}

const run = (work: (uuid: string) => Promise<void>) => async () => {
  started ??= start();
  await work(await started);
};

const readAlerts = async (): Promise<readonly AlertRecord[]> =>
  (await service.expect<{ alerts: AlertRecord[] }>(200, "GET", "/alerts")).alerts;

type Point = readonly [x: number, y: number];

/** Pixel of a point in fractions of the frame. */
async function pointAt(frame: Locator, [x, y]: Point): Promise<Point> {
  await frame.scrollIntoViewIfNeeded();
  const box = (await frame.boundingBox()) ?? assert.fail("the frame is not visible");
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

// Before the process is started, which would run along.
test("notifies people at certain times, with evidence: faults are shown at their fields, texts before they are sent", async () => {
  const page = await signIn(browser, service.url, { page: "alerts/new" });
  const group = (name: string) => page.getByRole("group", { name, exact: true });
  const save = (name: string) => page.getByRole("button", { name, exact: true }).click();
  /** What the service says about a field, which is the one in focus. */
  const faultOf = async (field: Locator, text: RegExp): Promise<void> => {
    await field.and(page.locator("[aria-invalid=true]:focus")).waitFor();
    const ids = ((await field.getAttribute("aria-describedby")) ?? "").split(" ");
    assert.match(await page.locator(`[id="${ids[0]}"]`).innerText(), text);
  };
  await page.getByLabel("Name", { exact: true }).fill("Night watch");
  await page.getByLabel("Keep a snapshot of the frame").check();
  await page.getByLabel("Keep a clip").check();
  await page.getByLabel("Before (s)").fill("20");
  await page.getByLabel("Draw the boxes").check();
  await page.getByRole("combobox", { name: "Active" }).selectOption({ label: "At certain times" });
  for (const day of ["Saturday", "Sunday"]) await group("Times 1").getByLabel(day).uncheck();
  await group("Times 1").getByText("Ends on the next day.").waitFor();
  await page.getByRole("button", { name: "Add times" }).click();
  for (const day of ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"])
    await group("Times 2").getByLabel(day).uncheck();
  for (const end of ["From", "To"]) await group("Times 2").getByLabel(end, { exact: true }).fill("00:00");
  await group("Times 2").getByText("The whole day.").waitFor();
  const zone = page.getByLabel("Time zone");
  assert.notEqual(await zone.inputValue(), "", "that of the browser");
  await zone.fill("Berlin");

  const add = page.getByRole("button", { name: "Add a destination" });
  await add.click();
  await group("Destination 1").getByLabel("Addresses").fill("guard@example.org, night-shift@example.org");
  await group("Destination 1").getByLabel("Subject").fill("{{ alert.alias }}: {{ tracks.length }} tracks");
  await group("Destination 1").getByText("Night watch: 1 tracks", { exact: true }).waitFor();
  await group("Destination 1").getByText("Picture: https://").waitFor();
  await add.click();
  const hook = group("Destination 2");
  await hook.getByRole("combobox", { name: "Send by" }).selectOption({ label: "Webhook" });
  await hook.getByLabel("URL", { exact: true }).fill("http://127.0.0.1:9/chat");
  for (const [preset, text] of [
    ["Slack", /^\{"text": "\*Night watch\*: triggered at /],
    ["Microsoft Teams", /"text": "Night watch"/],
    ["ntfy", /^Night watch: person \(triggered, /],
    ["Telegram", /"text": "Night watch: triggered\\nhttps:/],
  ] as const) {
    await hook.getByRole("combobox", { name: "Message" }).selectOption({ label: preset });
    await hook.locator("pre").filter({ hasText: text }).waitFor();
  }
  await photograph(page, "alert-new-people");
  await save("Create");
  await faultOf(zone, /^"Berlin" is not an IANA time zone.*did you mean "Europe\/Berlin"\?$/);
  await photograph(page, "alert-new-faults");
  await zone.fill("Europe/Berlin");
  await save("Create");
  await faultOf(
    group("Destination 1").getByRole("combobox", { name: "Send by" }),
    /^Send by cannot be email: .*smtp\.url/,
  );
  await page.getByRole("button", { name: "Remove destination 1" }).click();
  await save("Create");
  await page.getByRole("dialog").getByLabel("secret", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();

  const find = async () =>
    (await readAlerts()).find(({ alias }) => alias === "Night watch") ?? assert.fail("it is there");
  const made = await find();
  const schedule = {
    time_zone: "Europe/Berlin",
    windows: [
      { days: ["mon", "tue", "wed", "thu", "fri"], from: "22:00", to: "06:00" },
      { days: ["sat", "sun"], from: "00:00", to: "24:00" },
    ],
  };
  const evidence = { clip: { before_seconds: 20, after_seconds: 5, boxes: true }, snapshot: true };
  assert.deepEqual([made.schedule, made.evidence], [schedule, evidence]);
  const configOf = ({ output: [first] }: AlertRecord) =>
    (first?.config ?? {}) as { url?: string; template?: { body: string; content_type: string } };
  const { template, url } = configOf(made);
  assert.deepEqual(
    [made.output.length, url, template?.content_type],
    [1, "http://127.0.0.1:9/chat", "application/json"],
  );
  assert.match(template?.body ?? "", /^\{"chat_id": /);

  await page.getByRole("link", { name: "Edit Night watch" }).click();
  const body = group("Destination 1").getByLabel("Body");
  assert.equal(await group("Destination 1").getByRole("combobox", { name: "Message" }).inputValue(), "telegram");
  assert.equal(await page.getByLabel("Before (s)").inputValue(), "20");
  await body.fill('{"text": "{{ alert.alis }}"}');
  await group("Destination 1").getByRole("status").getByText('did you mean "alert.alias"?').waitFor();
  await save("Save");
  await faultOf(body, /^Line 1, column 11: "alert\.alis" is not a value of notifications/);
  await body.fill('{"text": "{{ alert.alias }}"}');
  await page.getByLabel("Keep a clip").uncheck();
  await page.getByRole("combobox", { name: "Active" }).selectOption({ label: "Always" });
  await photograph(page, "alert-edit-people");
  await save("Save");
  await page.getByRole("table", { name: "Alerts" }).waitFor();
  const changed = await find();
  assert.deepEqual([changed.schedule, changed.evidence], [null, { snapshot: true }]);
  assert.equal(configOf(changed).template?.body, '{"text": "{{ alert.alias }}"}');
  await service.expect(200, "DELETE", `/alert/${made.uuid}`);
  await page.close();
});

test(
  "draws a zone by mouse and touch, rejects too few points with a message, and shows notifications",
  { skip },
  run(async () => {
    const page = await signIn(browser, service.url, { page: "alerts" });
    await page.getByText("No alerts yet").waitFor();
    await photograph(page, "alerts-none");
    await page.getByRole("link", { name: "New alert" }).click();
    await page.getByRole("img", { name: "Frame of the process" }).waitFor();
    const frame = page.getByRole("group", { name: "Zone" });
    for (const point of ZONE.slice(0, 2)) await click(page, frame, point);
    await page.getByLabel("Name", { exact: true }).fill("Person in the zone");
    await page.getByRole("button", { name: "Add a destination" }).click();
    await page.getByRole("combobox", { name: "Send by" }).selectOption({ label: "MQTT broker" });
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
    const received: string[] = [];
    subscriber.on("message", (_, bytes) => {
      received.push(String(bytes));
      watch.check();
    });
    await subscriber.subscribeAsync("alerts/console");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Alerts", level: 1 }).waitFor();
    const [alert] = await readAlerts();
    assert.deepEqual([alert?.alias, alert?.type], ["Person in the zone", "filter-search"]);
    assertNear(alert?.region.polygon, ZONE);
    const notifications = page.getByRole("region", { name: "Notifications" });
    await notifications.getByText("triggered").first().waitFor();
    assert.match(await notifications.innerText(), /Campus · [a-z ]+ \d+/);
    await watch.until("a message at the broker", () => received.length > 0);
    await page.getByText(/[1-9]\d* delivered/).waitFor();
    await photograph(page, "alerts");
    await notifications.getByRole("link", { name: "Campus" }).first().click();
    await page.getByRole("heading", { name: /Campus/, level: 1 }).waitFor();
    await notifications.getByText("triggered").first().waitFor();
    await photograph(page, "process-notifications");
    await page.close();
  }),
);

test(
  "draws a line with its forward direction by keys and mouse, and changes it on a running process",
  { skip },
  run(async () => {
    const receiver = await openReceiver();
    const page = await signIn(browser, service.url, { page: "alerts/new" });
    await page.getByRole("combobox", { name: "Type" }).selectOption({ label: "A line is crossed (flow-control)" });
    await page.getByRole("img", { name: "Frame of the process" }).waitFor();
    const frame = page.getByRole("group", { name: "Line" });
    // A click moves the nearer end.
    await click(page, frame, [0.7, 0.1]);
    await page.getByRole("slider", { name: "Point 1" }).focus();
    for (const key of ["ArrowRight", "Shift+ArrowRight", "Shift+ArrowUp", "ArrowDown"]) await page.keyboard.press(key);
    const arrow = page.locator(".forward");
    const before = await arrow.getAttribute("points");
    await page.getByRole("button", { name: "Reverse direction" }).click();
    await untilPage(page, `document.querySelector(".forward").getAttribute("points") !== ${JSON.stringify(before)}`);
    await page.getByRole("button", { name: "Reverse direction" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Gate");
    await page
      .getByRole("combobox", { name: "Applies to" })
      .selectOption({ label: "All processes, current and future" });
    await page.getByRole("button", { name: "Add a destination" }).click();
    await page.getByRole("combobox", { name: "Send by" }).selectOption({ label: "Webhook" });
    await page.getByLabel("URL", { exact: true }).fill(receiver.url);
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
    assert.ok(!JSON.stringify(made).includes("whsec_"), "the secret is shown only once");

    // What the user does not change stays as it is.
    const schedule = { time_zone: "Europe/Berlin", windows: [{ from: "00:00", to: "24:00" }] };
    const template = { body: "{{ event }}", content_type: "text/plain", headers: { Authorization: "Bearer x" } };
    const output = [
      { type: "webhook", config: { url: receiver.url, template } },
      { type: "mqtt", config: { host: "127.0.0.1:9", topic: "gate" } },
    ];
    await service.expect(200, "PATCH", `/alert/${made?.uuid}?force=true`, { json: { schedule, output } });

    await page.getByRole("link", { name: "Edit Gate" }).click();
    await page.getByRole("img", { name: "Frame of the process" }).waitFor();
    assert.equal(await page.getByLabel("Count", { exact: true }).inputValue(), "2");
    await drag(page, frame, [0.7, 0.1], [0.6, 0.95]);
    await page.getByLabel("Count", { exact: true }).fill("1");
    await photograph(page, "alert-edit");
    await page.getByLabel("Apply now").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("A change applies from the next process start").waitFor();
    await page.getByRole("link", { name: "Edit Gate" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("table", { name: "Alerts" }).waitFor();
    await page.getByText("A change applies from the next process start").waitFor({ state: "hidden" });
    const changed = (await readAlerts()).find(({ alias }) => alias === "Gate");
    assert.deepEqual([changed?.pending, changed?.trigger.count, changed?.trigger.direction], [null, 1, "forward"]);
    assert.deepEqual(changed?.schedule, schedule);
    assert.deepEqual(
      [changed?.output.length, changed?.output[0]?.config.template],
      [...[2, { ...template, headers: { Authorization: "***" } }]],
    );
    assertNear(changed?.region.line, [
      [0.31, 0.51],
      [0.6, 0.95],
    ]);

    await page.getByRole("button", { name: "Disable Gate" }).click();
    await page.getByRole("row", { name: /Gate/ }).getByText("inactive").waitFor();
    await page.getByRole("button", { name: "Enable Gate" }).click();
    await page.getByRole("row", { name: /Gate/ }).getByText("active", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete Gate" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("row", { name: /Gate/ }).waitFor({ state: "detached" });
    assert.equal((await readAlerts()).length, 1);
    await page.close();
  }),
);

test(
  "subscribes a webhook, sends a sample, delivers events and removes it",
  { skip },
  run(async (process) => {
    const receiver = await openReceiver();
    const page = await signIn(browser, service.url);
    await goTo(page, "Webhooks");
    await page.getByText("No webhooks yet").waitFor();
    await page.getByRole("button", { name: /^Subscribe to/ }).click();
    await page.getByLabel("URL", { exact: true }).fill(receiver.url);
    await page.getByRole("combobox", { name: "Event" }).selectOption("target-count");
    await page.getByLabel("Minimum interval (s)").fill("0.5");
    await photograph(page, "webhook-new");
    await page.getByRole("dialog").getByRole("button", { name: "Subscribe" }).click();
    const secret = page.getByRole("dialog").getByLabel("secret", { exact: true });
    assert.match(await secret.innerText(), /^whsec_/);
    await photograph(page, "webhook-secret");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: `Send a sample to ${receiver.url}` }).click();
    await page.getByText("Sample delivered").waitFor();
    await watch.until("a sample", () => receiver.bodies.some((body) => JSON.parse(body).sample === true));
    await watch.until("an event", () => receiver.bodies.some((body) => JSON.parse(body).sample !== true));
    assert.equal(JSON.parse(receiver.bodies[0] ?? "").process_uuid, process);
    await page
      .getByRole("row", { name: /target-count/ })
      .getByText("delivered")
      .waitFor();
    await photograph(page, "webhooks");
    await page.getByRole("button", { name: `Remove ${receiver.url}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("No webhooks yet").waitFor();
    await service.expect(200, "DELETE", `/process/${process}`);
    await page.getByText("No running processes").waitFor();
    await page.close();
  }),
);

test("pages send requests only to the service, and do not violate their security policy", { skip }, () => {
  const foreign = browser.requested.filter((url) => !url.startsWith(service.url) && !/^(blob|data):/.test(url));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
});
