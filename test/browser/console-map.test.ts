/** Map and reports in the console, on a clip with people and a camera at a known position. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import { HeadlessBrowser } from "../../tools/bench/media/browser.ts";
import { createKey, MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { EVERY, goTo, photograph, signIn, untilPage } from "./console-visitor.fixture.ts";

const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

/** A camera on a mast, next to the date line. */
const TELEMETRY = {
  ...{ latitude: -17, longitude: 179.9999, altitude: 12, rel_altitude: 12 },
  ...{ camera_yaw: 60, camera_pitch: -35, camera_roll: 0, sensor_hfov: 55, sensor_vfov: 43 },
};

const [service, browser] = await Promise.all([TestService.start(), HeadlessBrowser.open()]);
after(async () => {
  await browser.close();
  await service.close();
});

const canvasOf = (page: Page) => page.getByRole("application", { name: /^Map of tracks/ });
const countDrawn = async (page: Page): Promise<number> => Number(await canvasOf(page).getAttribute("data-drawn"));
/** Number of pixels that are not transparent. */
const countInked = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  })()`);

async function untilDrawn(page: Page, act: () => Promise<void>): Promise<void> {
  const before = await countDrawn(page);
  await act();
  await untilPage(page, `document.querySelector("canvas").dataset.drawn > ${before}`);
}

/** Whether the map is not redrawn for 20 animation frames. */
const IS_IDLE = `new Promise((done) => {
  const count = () => document.querySelector("canvas").dataset.drawn;
  const first = count();
  let left = 20;
  const check = () => (left-- > 0 ? requestAnimationFrame(check) : done(count() === first));
  check();
})`;

test("shows the camera, its footprint and geolocated tracks", { skip }, async () => {
  const page = await signIn(browser, service.url, { page: "map" });
  await page.getByText("No running processes").waitFor();
  const source = await uploadVideo(service, clip ?? "", { alias: "Campus" });
  const start = () =>
    service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
      json: { params: { every: EVERY } },
    });
  const { process_uuid: unlocated } = await start();
  await page.getByText("No geolocated objects yet.").waitFor();
  await photograph(page, "map-empty");
  await service.expect(200, "DELETE", `/process/${unlocated}`);

  const telemetry_cfg = { type: "static", parameters: TELEMETRY };
  await service.expect(200, "PATCH", `/source/${source.uuid}`, { json: { telemetry_cfg } });
  await start();
  await page.getByText(/^Table: 1 camera, [1-9]/).click();
  const table = page.getByRole("table", { name: "Cameras and tracks" });
  await table
    .getByText(/^person \d+$/)
    .first()
    .waitFor();
  assert.match(await table.innerText(), /-17\.000000, 179\.999900/);
  const positions = [...(await table.innerText()).matchAll(/person \d+\s+(-?[\d.]+), (-?[\d.]+)/g)];
  assert.ok(positions.length > 0);
  for (const [, latitude, longitude] of positions) {
    assert.ok(Math.abs(Number(latitude) + 17) < 0.002, latitude);
    assert.ok(180 - Math.abs(Number(longitude)) < 0.002, longitude);
  }
  assert.ok((await countInked(page)) > 5_000);
  await photograph(page, "map");

  // Wheel, mouse and keys: each of them changes the map.
  const box = (await canvasOf(page).boundingBox()) ?? assert.fail();
  await page.mouse.move(box.x + 200, box.y + 150);
  await untilDrawn(page, () => page.mouse.wheel(0, -300));
  await page.mouse.down();
  await untilDrawn(page, () => page.mouse.move(box.x + 300, box.y + 200));
  await page.mouse.up();
  await canvasOf(page).focus();
  for (const key of ["ArrowLeft", "+", "-", "0"]) await untilDrawn(page, () => page.keyboard.press(key));
  for (const name of ["Zoom in", "Zoom out", "Show all"])
    await untilDrawn(page, () => page.getByRole("button", { name }).click());
  await page.close();
});

test("does not redraw the map while nothing changes", { skip }, async () => {
  const page = await signIn(browser, service.url, { page: "map" });
  await page.getByText(/^Table: 1 camera, [1-9]/).waitFor();
  const [{ uuid }] = (await service.expect<{ processes: [{ uuid: string }] }>(200, "GET", "/processes")).processes;
  await service.expect(200, "POST", `/process/${uuid}/pause`);
  while (!(await page.evaluate(IS_IDLE)));
  await service.expect(200, "POST", `/process/${uuid}/resume`);
  await page.close();
});

test("calibrates the heading with a landmark in a frame, and removes the calibration", { skip }, async () => {
  const [{ uuid }] = (await service.expect<{ processes: [{ uuid: string }] }>(200, "GET", "/processes")).processes;
  const page = await signIn(browser, service.url, { page: `processes/${uuid}` });
  const heading = page.getByRole("region", { name: "Heading" });
  await heading.getByText("Used as the telemetry reports it.").waitFor();
  await heading.getByRole("button", { name: "Calibrate" }).click();
  const dialog = page.getByRole("dialog", { name: "Calibrate the heading" });
  const frame = dialog.getByRole("group", { name: "Landmark" });
  await dialog.getByRole("button", { name: "Calibrate" }).waitFor();
  await dialog.getByLabel("Latitude").fill("-16.99993");
  await dialog.getByLabel("Longitude").fill("-179.99996");
  await frame.waitFor();
  await dialog.getByRole("button", { name: "Calibrate" }).click();
  await dialog.getByText("Mark the landmark in the picture first.").waitFor();
  const { width, height } = (await frame.boundingBox()) ?? assert.fail();
  await frame.click({ position: { x: width / 2 - 1, y: height / 2 } });
  const mark = dialog.getByRole("img", { name: /^Landmark at 50 % from the left, 50 % from the top/ });
  await mark.focus();
  await page.keyboard.press("Shift+ArrowDown");
  await dialog.getByRole("img", { name: /50 % from the left, 52 % from the top/ }).waitFor();
  await photograph(page, "calibrate");
  await dialog.getByRole("button", { name: "Calibrate" }).click();
  // The picture says 60 degrees, the coordinates 63.
  await heading.getByText(/^Corrected by \+[2-4]\.\d° ± \d\.\d°, with 1 landmark/).waitFor();
  await heading.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await heading.getByText("Used as the telemetry reports it.").waitFor();
  await page.close();
});

test("shows a live report with its time line; downloads, enhances and deletes it", { skip }, async () => {
  const page = await signIn(browser, service.url, { page: "reports" });
  await page.getByRole("link", { name: "Campus" }).first().waitFor();
  await photograph(page, "reports");
  await page
    .getByRole("row", { name: /running/ })
    .getByRole("link", { name: "Campus" })
    .click();
  await page.getByText("once the process has finished").waitFor();
  assert.equal(await page.getByRole("button", { name: "Enhance" }).count(), 0);
  // Tracks appear without a reload.
  await page.getByRole("article").first().waitFor();
  const bars = page.getByRole("group", { name: /^Time line of \d+ track/ }).getByRole("button");
  const bar = bars.first();
  await bar.hover();
  const label = (await bar.getAttribute("aria-label")) ?? "";
  assert.match(label, /^person \d+, .* to .*, [\d.]+ s$/);
  await page.getByRole("figure").getByText(label).waitFor();
  await bar.click();
  const [name = ""] = label.split(",");
  const focused = page.locator("article:focus");
  assert.equal(await focused.getAttribute("aria-label"), name);
  assert.ok(await focused.isVisible());
  await photograph(page, "report-live");
  await bar.focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator(":focus").getAttribute("class"), "bar");
  assert.notEqual(await page.locator(":focus").getAttribute("aria-label"), label);

  for (const [format, begins] of [
    ["GeoJSON", /^\{"type":"FeatureCollection"/],
    ["KML", /^<\?xml/],
    ["CSV", /^\w+,/],
  ] as const) {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Download as ${format}` }).click(),
    ]);
    assert.match(await readFile(await file.path(), "utf8"), begins);
    assert.match(file.suggestedFilename(), new RegExp(`\\.${format.toLowerCase()}$`));
  }

  const [{ uuid }] = (await service.expect<{ processes: [{ uuid: string }] }>(200, "GET", "/processes")).processes;
  await service.expect(200, "DELETE", `/process/${uuid}`);
  const states: (string | null)[] = [];
  await page.exposeFunction("noteState", (state: string | null) => void states.push(state));
  await page.evaluate(
    "new MutationObserver(() => noteState(document.querySelector('.enhancement .state')?.className ?? null)).observe(document.body, { childList: true, subtree: true, attributes: true })",
  );
  await page.getByRole("button", { name: "Enhance" }).click();
  await page.locator(".enhancement").getByText("enhanced", { exact: true }).waitFor();
  for (const state of ["RUNNING", "FINISHED"]) assert.ok(states.includes(`state ${state}`), state);
  await page.getByRole("list").first().waitFor();
  assert.match((await page.locator(".tags").allInnerTexts()).join(), /(upper|lower): [a-z]+/);
  await photograph(page, "report-enhanced");

  const key = await createKey(service, "plain", "--track-logger");
  const other = await signIn(browser, service.url, { key });
  await goTo(other, "Reports");
  await other.getByText("No reports yet").waitFor();
  await photograph(other, "reports-none");
  const source = await uploadVideo(service, clip ?? "", { key });
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { key });
  await service.expect(200, "DELETE", `/process/${started.process_uuid}`, { key });
  await other.getByRole("table").getByRole("link").click();
  await other.getByText("Enhancement is not enabled for this key").waitFor();
  assert.equal(await other.getByRole("button", { name: /^Enhance/ }).count(), 0);
  await other.close();

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByText("their paths and images").waitFor();
  await photograph(page, "report-delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Report deleted").waitFor();
  await page.getByRole("heading", { name: "Reports", level: 1 }).waitFor();
  await service.expect(404, "GET", `/process/${uuid}/tracks`);
  await page.close();
});

test("pages send requests only to the service, and do not violate their security policy", { skip }, () => {
  const foreign = browser.requested.filter((url) => !url.startsWith(service.url) && !/^(blob|data):/.test(url));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
  assert.ok(!browser.requested.some((url) => url.includes(MASTER_KEY)), "no address contains the key");
});
