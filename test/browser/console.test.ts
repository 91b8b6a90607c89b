/** The console in a browser: sign-in, sources, processes, recordings, graphs, usage. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import type { Page, Request } from "playwright-core";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import { Gate } from "../../server/delivery/gate.fixture.ts";
import { publishTimeCode, type TimeCodePublisher } from "../../tools/bench/media/time-code.ts";
import { createKey, MASTER_KEY, revokeKey, TestService } from "../api/service.fixture.ts";
import { MISSING_CLIP } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { goTo, makeCampus, photograph, SLOW, signIn, untilPage } from "./console-visitor.fixture.ts";
import { checkEdges, keepShown, measureLikeness, Viewer } from "./live-view.fixture.ts";

const FRAMES = 16;
/** Of elements that are allowed in a tried graph; it has no video output. */
const SMALL_GRAPH = "graph: try\nchains:\n  main: [source, decode, stage, detect, detections]\n";
/** The length of a list before "Show more". */
const FIRST_ROWS = 50;
const MAX_INITIAL_BYTES = 200_000;

const folder = temporaryFolder();
const campus = await makeCampus(folder, SLOW.times);
const clip = campus ?? (await makeClip(folder, 3000));
const lacksPeople = campus === null ? MISSING_CLIP : await withoutModel("default");

const [service, browser] = await Promise.all([TestService.start(), openBrowser()]);
const { rtsp = "" } = await service.serving.event("ready");
const leaving = createKey(service, "leaving");
const { username } = await service.expect<{ username: string }>(200, "GET", "/user_info");
let page: Page;
let publisher: TimeCodePublisher | undefined;

before(async () => {
  page = await browser.show(`${service.url}/console`, { width: 1280, height: 800 });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
});
after(async () => {
  await publisher?.stop();
  await browser.close();
  await service.close();
});

/** Each step continues where the one before it ended: after a failure, the others are skipped. */
let isBroken = false;
function step(name: string, body: (context: TestContext) => unknown, skip: string | false = false): void {
  test(name, { skip }, async (context) => {
    if (isBroken) return context.skip("an earlier step failed");
    isBroken = true;
    await body(context);
    isBroken = false;
  });
}

const dialog = () => page.getByRole("dialog");
const row = (name: string) => page.getByRole("row").filter({ hasText: name });
/** Name of the focused element. */
const focused = (): Promise<string> =>
  page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()");

step("signs in with a key, rejects a wrong one with a message, and has a small initial download", async () => {
  await page.getByLabel("API key").fill("wh_unknown");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("key", { exact: false }).waitFor();
  await photograph(page, "sign-in");
  await page.getByLabel("API key").fill(MASTER_KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Show me a demo" }).waitFor();
  const bytes = await page.evaluate(
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)",
  );
  assert.ok(Number(bytes) > 10_000 && Number(bytes) < MAX_INITIAL_BYTES, `${bytes} bytes`);
  await page.getByRole("link", { name: "Sources" }).first().click();
  await page.getByText("No sources yet").waitFor();
  await photograph(page, "sources-empty");
  await page.reload();
  await page.getByText("No sources yet").waitFor();
});

step("all pages can be reached by keyboard, with a link to the content and a visible focus", async () => {
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate("document.activeElement.id"), "content");
  assert.match(page.url(), /\/console\/sources$/);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Upload a video");
  assert.notEqual(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none");
  const titles = [
    "Live",
    "Processes",
    "Map",
    "Reports",
    "Review",
    "Alerts",
    "Webhooks",
    "Recordings",
    "Graphs",
    "Keys",
    "Usage",
    "Sources",
  ];
  const menu = ["Webhooks", "Graphs", "Keys", "Usage"];
  for (const title of titles) {
    if (menu.includes(title)) {
      await page.getByRole("button", { name: "Manage" }).focus();
      await page.keyboard.press("Enter");
    }
    await page.getByRole("link", { name: title, exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    assert.equal(await page.title(), `${title} · Windhover`);
    assert.equal(await page.evaluate("document.activeElement.id"), "content");
  }
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("button", { name: "Menu" }).waitFor();
  await untilPage(page, "document.documentElement.scrollWidth <= document.documentElement.clientWidth");
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const unknown of ["%E0%A4%A", "unknown"]) {
    await page.goto(`${service.url}/console/${unknown}`);
    await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
  }
  await photograph(page, "page-not-found");
  await page.getByRole("link", { name: "Go to the start page" }).click();
  await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
  await photograph(page, "live-empty");
  await goTo(page, "Sources");
});

step("does not navigate after a slow start when the user has left the page", async () => {
  await goTo(page, "Live");
  let respond = () => {};
  const responded = new Promise<void>((resolve) => {
    respond = resolve;
  });
  await page.route("**/demo", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    await responded;
    await route.fulfill({ status: 201, json: { source_uuid: "0198", process_uuid: "0199" } });
  });
  await page.getByRole("button", { name: "Show me a demo" }).click();
  await page.getByRole("status").getByText("Starting").waitFor();
  await goTo(page, "Sources");
  const finished = page.waitForEvent("requestfinished", (request) => request.method() === "POST");
  respond();
  await finished;
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  assert.match(page.url(), /\/console\/sources$/);
  await page.unroute("**/demo");
});

step("a dialog traps and returns the focus; rejects a file that is not a video, and uploads a video", async () => {
  const opener = page.getByRole("button", { name: "Upload a video" });
  await opener.focus();
  await page.keyboard.press("Enter");
  await dialog().waitFor();
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate("document.activeElement.matches('dialog *, body')"), await focused());
  }
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  assert.equal(await focused(), "Upload a video");

  await opener.click();
  await photograph(page, "sources-upload");
  const notes = join(folder, "notes.mp4");
  writeFileSync(notes, "This is not a video.");
  await dialog().getByLabel("File").setInputFiles(notes);
  await dialog().getByRole("button", { name: "Upload" }).click();
  await dialog().getByRole("alert").waitFor();
  await page.evaluate(
    "window.values = []; new MutationObserver(() => values.push(document.querySelector('progress')?.getAttribute('value'))).observe(document.body, { subtree: true, childList: true, attributes: true })",
  );
  await dialog().getByLabel("File").setInputFiles(clip);
  await dialog().getByLabel("Name").fill("Campus");
  await dialog().getByRole("button", { name: "Upload" }).click();
  await row("Campus").getByText("File", { exact: true }).waitFor();
  assert.ok(Number(await page.evaluate("values.filter(Boolean).length")) > 0, "progress was shown");
});

step("adds a stream, plays it while it is published, and deletes a source", async () => {
  const address = `${rtsp}/${username}/gate`;
  const add = async (name: string, url: string) => {
    await page.getByRole("button", { name: "Add a stream" }).click();
    await dialog().getByLabel("Name").fill(name);
    await dialog().getByLabel("Address").fill(url);
    await dialog().getByRole("button", { name: "Add" }).click();
    await row(name).waitFor();
  };
  await add("Gate", address);
  await page.getByRole("button", { name: "Recording of Gate" }).click();
  assert.ok(await dialog().getByLabel("Always").isChecked());
  await dialog().getByLabel("On alerts").check();
  await dialog().getByLabel("Seconds before the start").fill("10");
  await photograph(page, "sources-recording");
  await dialog().getByRole("button", { name: "Save" }).click();
  await page.getByRole("status").getByText("Recording of Gate: on alerts").waitFor();
  await page.getByRole("button", { name: "Recording of Gate" }).click();
  await dialog().getByText("Not recorded at the moment.").waitFor();
  assert.ok(await dialog().getByLabel("On alerts").isChecked());
  assert.equal(await dialog().getByLabel("Seconds before the start").inputValue(), "10");
  await dialog().getByLabel("Always").check();
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Add a stream" }).click();
  await dialog().getByLabel("Telemetry").selectOption("mqtt");
  await dialog().getByRole("textbox", { name: "Broker" }).fill("broker.example");
  await photograph(page, "sources-stream");
  await dialog().getByRole("button", { name: "Close" }).click();
  await add("Drone over the northern field, second flight", "rtmp://pilot:secret@drones.example/flights/2026/north");
  assert.match(await row("Drone").innerText(), /rtmp:\/\/\*\*\*@drones\.example/);

  publisher = publishTimeCode({
    url: `${address}?api_key=${MASTER_KEY}`,
    width: 320,
    height: 240,
    framesPerSecond: 10,
  });
  await row("Gate").getByText("streaming").waitFor();
  await photograph(page, "sources");
  await page.getByRole("button", { name: "Watch Gate" }).click();
  const player = page.frameLocator("iframe[title='Live video of Gate']");
  await player.locator("body[data-state=live]").waitFor();
  await photograph(page, "sources-watch");
  await dialog().getByRole("button", { name: "HLS" }).click();
  await player.locator("body[data-state=live]").waitFor();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  assert.equal(await focused(), "Watch Gate");

  await page.getByRole("button", { name: /^Delete Drone/ }).focus();
  await page.keyboard.press("Enter");
  await photograph(page, "sources-delete");
  await dialog().getByRole("button", { name: "Delete" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("deleted").waitFor();
  await row("Drone").waitFor({ state: "detached" });
  assert.equal(await page.evaluate("document.activeElement.id"), "content");
});

step("plays and downloads a recording", async () => {
  await publisher?.stop();
  await goTo(page, "Recordings");
  await row("Gate").getByText("recording", { exact: true }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Play Gate" }).click();
  await dialog().waitFor();
  await page.evaluate(
    "new Promise((done) => document.querySelector('dialog video').addEventListener('timeupdate', ({ target }) => target.currentTime > 0 && done()))",
  );
  await photograph(page, "recordings-play");
  await dialog().getByRole("button", { name: "Close" }).last().click();
  await photograph(page, "recordings");
  const [file] = await Promise.all([page.waitForEvent("download"), row("Gate").getByRole("link").click()]);
  assert.match(file.suggestedFilename(), /\.mp4$/);
  assert.equal(await file.failure(), null);
});

step("starts a process with parameters from its schema", async () => {
  await goTo(page, "Processes");
  await page.getByText("No running processes").waitFor();
  await photograph(page, "processes-empty");
  await page.getByRole("link", { name: "Start a process" }).click();
  await page.getByLabel("Source").selectOption("Campus");
  await page.getByText("Parameters").click();
  await page.getByLabel("confidence").fill("0.3");
  await page.getByRole("textbox", { name: "classes" }).fill("person, car");
  await page.getByRole("textbox", { name: "every" }).fill(String(SLOW.every));
  await photograph(page, "process-new");
  await page.getByRole("textbox", { name: "model" }).fill("no-such-model");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("alert").getByText("no-such-model").waitFor();
  await page.getByRole("textbox", { name: "model" }).fill("");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("heading", { level: 1, name: /Campus/ }).waitFor();
  await page.getByText("running", { exact: true }).waitFor();
  const { params } = await service.expect<ProcessRecord>(200, "GET", `/process/${processUuid()}`);
  assert.equal(params.confidence, 0.3);
  assert.deepEqual([params.classes, params.every], [["person", "car"], SLOW.every]);
});

const processUuid = (): string => page.url().split("/").at(-1) ?? "";
step(
  "draws boxes on the objects of the frame that is shown",
  async (context) => {
    const viewer = new Viewer(service, processUuid());
    context.after(() => viewer.stop());
    // The page may show frames from before the second viewer connected.
    const first = await poll("a message", () => viewer.messages.keys().next().value ?? null);
    const canvas = page.locator("canvas[data-timestamp]");
    await poll("a later frame", async () => ((await canvas.getAttribute("data-timestamp")) ?? "") > first);
    const shown = await keepShown(page, FRAMES);
    const pictures = [...viewer.pictures.values()];
    const total = { boxes: 0, seen: 0, right: 0, own: 0, foreign: 0 };
    for (const { timestamp, tracks } of shown) {
      // No inference was run on this frame.
      if (tracks === "" && !viewer.messages.has(timestamp)) continue;
      const message = await viewer.messageOf(timestamp);
      assert.equal(Number(tracks), message.active_tracks.length);
      for (const { trackId, seen, right } of await checkEdges(page, message)) {
        assert.ok(right >= seen * 0.6, `${timestamp}: ${right} of ${seen} points of track ${trackId}`);
        total.boxes += 1;
        total.seen += seen;
        total.right += right;
      }
      const picture = viewer.pictures.get(timestamp);
      if (picture === undefined || message.active_tracks.length === 0) continue;
      const own = await measureLikeness(page, message, picture);
      assert.ok(own > 0.7, `${timestamp} shows another frame: ${own} of it matches`);
      total.own += own;
      const other = pictures[(pictures.indexOf(picture) + (pictures.length >> 1)) % pictures.length];
      if (other !== undefined) total.foreign += await measureLikeness(page, message, other);
    }
    context.diagnostic(`${shown.length} frames: ${JSON.stringify(total)}`);
    assert.ok(total.boxes >= FRAMES, `${total.boxes} boxes`);
    assert.ok(total.right > total.seen * 0.9, `${total.right} of ${total.seen} points`);
    assert.ok(total.foreign < total.own * 0.8, "the comparison distinguishes other frames from the one that is shown");
  },
  lacksPeople,
);

step(
  "shows the status of a process, attaches an output with an address to copy, and shows the load of the graph",
  async () => {
    await page.getByText(/[1-9][\d.]* in · [\d.]+ processed/).waitFor();
    await page.getByText("Attach an output").click();
    await page.getByLabel("Stream path, RTMP or SRT address").fill("campus/boxes");
    await page.getByLabel("Resolution").selectOption("360p");
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    const outputs = page.getByRole("region", { name: "Outputs" });
    await outputs.getByText("live", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Copy address of campus/boxes" }).click();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), `${rtsp}/${username}/campus/boxes`);
    await photograph(page, "process");
    await page.getByRole("link", { name: "detect" }).click();
    await page.getByRole("meter", { name: "Load of detect", exact: true }).waitFor();
    await page
      .getByText(/^[1-9]\d* fps · [\d.]+ ms$/)
      .first()
      .waitFor();
    const steps = page.getByRole("list", { name: "rtsp output campus/boxes" });
    await steps.getByText("encode", { exact: true }).waitFor();
    await photograph(page, "graph");
    await page.goBack();
    await page.getByRole("button", { name: "Detach campus/boxes" }).click();
    await outputs.getByText("No outputs attached").waitFor();
  },
);

step("lists a process; shows that the service is unreachable, and recovers", async () => {
  await page.getByRole("link", { name: "Processes" }).first().click();
  await row("Campus").getByText("running").waitFor();
  await photograph(page, "processes");
  const gate = await Gate.open(Number(new URL(service.url).port));
  const other = await signIn(browser, `http://127.0.0.1:${gate.port}`, { page: "processes" });
  await other.getByRole("link", { name: "Campus" }).waitFor();
  await gate.cut();
  await other.getByRole("alert").getByText("the service cannot be reached").waitFor();
  assert.ok(await other.getByRole("link", { name: "Campus" }).isVisible(), "the last known list stays");
  await photograph(other, "processes-unreachable");
  // Pressed while it still fails: afterwards the page recovers by itself, and the button may be gone before it is pressed.
  const retry = other.getByRole("button", { name: "Try again" });
  await Promise.all([other.waitForEvent("requestfailed"), retry.click()]);
  await gate.open();
  await other.getByRole("alert").waitFor({ state: "detached" });
  await other.getByRole("link", { name: "Campus" }).click();
  await other.waitForSelector("canvas[data-timestamp]");
  await gate.cut();
  await other.getByRole("figure").getByText("Connection lost").waitFor();
  await gate.open();
  await other.getByRole("figure").getByText("Connection lost").waitFor({ state: "detached" });
  await other.close();
  await gate.cut();
});

/** As if another tab were in front. */
const hide = (isHidden: boolean) =>
  page.evaluate(
    `Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event("visibilitychange"))`,
  );
const isFeed = (request: Request): boolean => request.url().includes("/feed?");

step("requests frames only while the tab is visible", async () => {
  await page.getByRole("link", { name: "Campus" }).click();
  await page.waitForSelector("canvas[data-timestamp]");
  await Promise.all([page.waitForEvent("requestfailed", isFeed), hide(true)]);
  await Promise.all([page.waitForRequest(isFeed), hide(false)]);
});

step("pauses, resumes and stops a process, and links its report", async () => {
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("figure").getByText("Paused.").waitFor();
  await photograph(page, "process-paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("figure").getByText("Paused.").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("link", { name: "Open report" }).waitFor();
  await photograph(page, "process-ended");
  await page.getByRole("link", { name: "Processes" }).last().click();
  await page.getByText("No running processes").waitFor();
  await page.getByLabel("Show ended").check();
  await row("Campus").getByText("finished").waitFor();
  await photograph(page, "processes-ended");
});

step("lists graphs, edits a copy with errors at their lines, and tries it", async () => {
  await goTo(page, "Graphs");
  await page.getByRole("link", { name: "preview", exact: true }).waitFor();
  await photograph(page, "graphs");
  await page.getByRole("link", { name: "preview", exact: true }).click();
  await page.getByText("YAML", { exact: true }).click();
  await photograph(page, "graph-text");
  await page.getByRole("link", { name: "Edit a copy" }).click();
  await page.getByText("No errors.").waitFor();
  await photograph(page, "graph-editor");
  const editor = page.getByRole("textbox", { name: "Graph text" });
  const text = await service.expect<{ yaml: string }>(200, "GET", "/graphs/preview");
  const write = async (next: string): Promise<void> => {
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(next);
  };
  await write(`${text.yaml}\nnonsense: 1\n`);
  const lines = text.yaml.split("\n").length + 1;
  await page.getByRole("button", { name: `Line ${lines}` }).waitFor();
  await page.locator(".cm-lint-marker-error").waitFor();
  await photograph(page, "graph-errors");
  assert.ok(await page.getByRole("button", { name: "Try for a minute" }).isDisabled());
  await page.getByRole("button", { name: `Line ${lines}` }).click();
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Backspace");
  await page.getByText("No errors.").waitFor();
  await write(SMALL_GRAPH);
  await page.getByText("Validating…").waitFor({ state: "detached" });
  await page.getByLabel("Try it on").selectOption("Campus");
  await page.getByRole("button", { name: "Try for a minute" }).click();
  await page.getByRole("heading", { level: 1, name: /Campus/ }).waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await photograph(page, "process-without-video");
  await page.getByRole("link", { name: "back to the editor" }).click();
  await page.getByText("No errors.").waitFor();
  assert.equal((await editor.innerText()).trim(), SMALL_GRAPH.trim());
  await page.goBack();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("The process has ended.").waitFor();
});

step("saves a graph in versions, and shows the differences between two of them", async () => {
  const mine = (every: number) =>
    `graph: mine\nabout: Every ${every}th frame.\nchains:\n  main: [source, decode, stage, detect, detections]\n`;
  await service.expect(201, "PUT", "/graphs/mine", { json: { yaml: mine(1) } });
  await goTo(page, "Graphs");
  await page.getByText("Your own, version 1").waitFor();
  await page.getByRole("link", { name: "mine", exact: true }).click();
  await page.getByText("The same text.").waitFor();
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByText("No errors.").waitFor();
  await page.getByRole("textbox", { name: "Graph text" }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(mine(2));
  await page.getByRole("button", { name: "Save as mine" }).click();
  const differences = page.getByLabel("Differences");
  await differences.waitFor();
  assert.equal(
    await differences
      .locator("del")
      .innerText()
      .then((text) => text.trim()),
    "- about: Every 1th frame.",
  );
  assert.equal(
    await differences
      .locator("ins")
      .innerText()
      .then((text) => text.trim()),
    "+ about: Every 2th frame.",
  );
  await photograph(page, "graph-versions");
  await goTo(page, "Graphs");
  await page.getByRole("link", { name: "record", exact: true }).click();
  await page.getByRole("link", { name: "Edit a copy" }).click();
  await page.getByText("To save a graph of your own, give it another name").waitFor();
});

step("shows the newest entries of a long list, and more on request", async () => {
  const names = Array.from({ length: FIRST_ROWS }, (_, i) => `Camera ${i + 1}`);
  for (const alias of names)
    await service.expect(201, "POST", "/stream", {
      json: { alias, stream_type: "rtsp", input_url: `rtsp://192.0.2.1/${alias.split(" ")[1]}` },
    });
  await goTo(page, "Sources");
  await row("Camera 50").waitFor();
  assert.equal(await row("").count(), 1 + FIRST_ROWS);
  await page.getByRole("button", { name: "Show more" }).click();
  await row("Campus").waitFor();
  await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
});

step("creates a key with rights, rotates it, changes it and revokes it", async () => {
  const shownKey = async (): Promise<string> => {
    const text = (await dialog().getByLabel("key", { exact: true }).textContent()) ?? "";
    await dialog().getByRole("button", { name: "Done" }).click();
    return text;
  };
  const loginStatus = async (key: string) => (await service.call("GET", "/login", { key })).status;
  await goTo(page, "Keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await dialog().getByLabel("Name").fill("drone 7");
  await dialog()
    .getByRole("checkbox", { name: /^publish/ })
    .check();
  await photograph(page, "keys-create");
  await dialog().getByRole("button", { name: "Create" }).click();
  const first = await shownKey();
  await row("drone 7").getByText("read, publish").waitFor();
  await photograph(page, "keys");
  await page.getByRole("button", { name: "Rotate drone 7" }).click();
  await dialog().getByLabel("The old key expires").selectOption("0");
  await dialog().getByRole("button", { name: "Rotate" }).click();
  const second = await shownKey();
  assert.notEqual(second, first);
  await row("drone 7").getByText("expired").waitFor();
  await poll("the old key is rejected", async () => (await loginStatus(first)) === 403);
  assert.equal(await loginStatus(second), 200);
  await row("drone 7").filter({ hasText: "valid" }).getByRole("button", { name: "Change drone 7" }).click();
  await dialog().getByLabel("Name").fill("drone 8");
  await dialog().getByLabel("Expires").fill("2099-01-01T00:00");
  await dialog().getByRole("button", { name: "Save" }).click();
  await row("drone 8").getByText("2099").waitFor();
  await page.getByRole("button", { name: "Revoke drone 8" }).click();
  await dialog().getByRole("button", { name: "Revoke" }).click();
  await row("drone 8").waitFor({ state: "detached" });
  await page.getByLabel("Show revoked keys").check();
  await row("drone 8").getByText("revoked").waitFor();
  await poll("the new key is rejected", async () => (await loginStatus(second)) === 403);
});

step("signs out with a message when the key is revoked", async () => {
  const other = await signIn(browser, service.url, { key: await leaving, page: "processes" });
  await other.getByText("No running processes").waitFor();
  await revokeKey(service, "leaving");
  await other.getByRole("alert").getByText("has been revoked").waitFor();
  assert.ok(await other.getByLabel("API key").isVisible());
  await other.close();
});

step("a single node shows itself, and only to operators", async () => {
  await goTo(page, "Nodes");
  await page.getByText("This node").waitFor();
  assert.equal(await page.getByRole("row").count(), 2, "with the row of headings");
  assert.equal(await page.getByRole("button", { name: /^Drain/ }).count(), 0);
  await photograph(page, "nodes-single");
  const user = await signIn(browser, service.url, { key: await createKey(service, "ada") });
  const answered = user.waitForResponse((response) => response.url().endsWith("/nodes"));
  await user.reload();
  assert.equal((await answered).status(), 403);
  await user.getByRole("button", { name: "Manage" }).click();
  await user.getByRole("link", { name: "Usage" }).waitFor();
  assert.equal(await user.getByRole("link", { name: "Nodes" }).count(), 0);
  await user.close();
});

step("the navigation of an operator fits on a laptop and a phone, and its menu works with the keyboard", async () => {
  const navigation = page.getByRole("navigation", { name: "Pages" });
  const isInside =
    "[...document.querySelectorAll('.top a:not(.skip), .top button')].every((one) => { const { left, right } = one.getBoundingClientRect(); return left >= 0 && right <= window.innerWidth; })";
  for (const [width, row, menu] of [
    [1280, 8, "Manage"],
    [390, 0, "Menu"],
  ] as const) {
    await page.setViewportSize({ width, height: 844 });
    const button = navigation.getByRole("button", { name: menu });
    await button.waitFor();
    assert.equal(await navigation.getByRole("link").count(), row);
    await button.focus();
    await page.keyboard.press("Enter");
    await navigation.getByRole("link", { name: "Nodes" }).waitFor();
    assert.equal(await page.evaluate(isInside), true, `something is outside of ${width} px`);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), true);
    assert.equal(await page.evaluate("document.querySelector('.top').offsetHeight < 80"), true, "more than a row");
    await photograph(page, "navigation", [width]);
    await page.keyboard.press("Escape");
    await navigation.getByRole("link", { name: "Nodes" }).waitFor({ state: "hidden" });
    assert.match(String(await page.evaluate("document.activeElement?.textContent")), new RegExp(`^${menu}`));
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

step("shows the usage of the key, switches the theme, and signs out", async () => {
  await goTo(page, "Usage");
  await page.getByText("Minutes used").waitFor();
  await photograph(page, "usage");
  await page.getByRole("button", { name: "Dark theme" }).click();
  assert.equal(await page.evaluate("document.documentElement.dataset.theme"), "dark");
  await page.reload();
  await page.getByRole("button", { name: "Light theme" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  await page.reload();
  await page.getByLabel("API key").waitFor();
});

step("pages send requests only to the service, and do not violate their security policy", () => {
  const hosts = new Set(browser.requested.map((url) => new URL(url).hostname).filter((name) => name !== ""));
  assert.deepEqual([...hosts], [new URL(service.url).hostname]);
  assert.deepEqual(browser.complaints, []);
  assert.ok(!browser.requested.some((url) => url.includes(MASTER_KEY)), "no address contains the key");
});
