/** Map and reports in the console, on a clip with people and a camera at a known position. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import { drawTile } from "../../server/map/pmtiles.fixture.ts";
import { writeHgt } from "../../terrain/terrain.fixture.ts";
import { createKey, MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { goTo, makeCampus, photograph, SLOW, signIn, untilPage } from "./console-visitor.fixture.ts";

const clip = await makeCampus(temporaryFolder(), SLOW.times);
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

/** A camera on a mast, next to the date line. */
const TELEMETRY = {
  ...{ latitude: -17, longitude: 179.9999, altitude: 12, rel_altitude: 12 },
  ...{ camera_yaw: 60, camera_pitch: -35, camera_roll: 0, sensor_hfov: 55, sensor_vfov: 43 },
};

/** Another host with tiles, as an operator may configure it. */
const TILE = drawTile([226, 232, 214]);
const referrers = new Set<string | undefined>();
const tileServer = createServer(({ headers }, response) => {
  referrers.add(headers.referer);
  response.writeHead(200, { "Content-Type": "image/png" }).end(TILE);
}).listen(0, "127.0.0.1");
await once(tileServer, "listening");
const tileOrigin = `http://127.0.0.1:${(tileServer.address() as AddressInfo).port}`;

/** Level around the camera, with a hill some kilometres to the north-west. */
const terrainFolder = temporaryFolder();
const HILL = { latitude: -16.97, longitude: 179.96 };
writeHgt(
  terrainFolder,
  [-17, 179],
  1201,
  (latitude, longitude) =>
    400 * Math.exp(-((latitude - HILL.latitude) ** 2 + (longitude - HILL.longitude) ** 2) / (2 * 0.008 ** 2)),
  { ...HILL, degrees: 0.04 },
);

const env = {
  WINDHOVER_MAP_TILES: `${tileOrigin}/{z}/{x}/{y}.png`,
  WINDHOVER_MAP_ATTRIBUTION: "© nobody, https://example.org/map",
  WINDHOVER_TERRAIN_FOLDER: terrainFolder,
  WINDHOVER_NETWORK_ALLOW: "127.0.0.0/8",
};
const [service, browser] = await Promise.all([TestService.start({ env }), openBrowser()]);
after(async () => {
  await browser.close();
  await service.close();
  tileServer.close();
});

const mapOf = (page: Page) => page.getByRole("application", { name: /^Map / });
const countDrawn = async (page: Page): Promise<number> => Number(await mapOf(page).getAttribute("data-drawn"));
/** Number of pixels that are not transparent. */
const countInked = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector(".map canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  })()`);
/** An image of a layer has been loaded and is shown. */
const untilShown = (page: Page, layer: "background" | "terrain") =>
  untilPage(page, `[...document.querySelectorAll(".${layer} img")].some((image) => image.naturalWidth === 256)`);

async function untilDrawn(page: Page, act: () => Promise<void>): Promise<void> {
  const before = await countDrawn(page);
  await act();
  await untilPage(page, `document.querySelector("[data-drawn]").dataset.drawn > ${before}`);
}

/** Whether the map is not redrawn for 20 animation frames. */
const IS_IDLE = `new Promise((done) => {
  const count = () => document.querySelector("[data-drawn]").dataset.drawn;
  const first = count();
  let left = 20;
  const check = () => (left-- > 0 ? requestAnimationFrame(check) : done(count() === first));
  check();
})`;

let sourceUuid = "";

const start = async (every: number = SLOW.every): Promise<string> => {
  const json = { params: { every } };
  return (await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${sourceUuid}`, { json })).process_uuid;
};

/** On a slow machine, the clip ends before the tests do. */
async function findRunning(): Promise<ProcessRecord> {
  const list = () => service.expect<{ processes: ProcessRecord[] }>(200, "GET", "/processes");
  const [running] = (await list()).processes;
  if (running !== undefined) return running;
  await start();
  return (await list()).processes[0] ?? assert.fail("it runs");
}

test("shows the camera, its footprint and geolocated tracks", { skip }, async () => {
  const page = await signIn(browser, service.url, { page: "map" });
  await page.getByText("No running processes").waitFor();
  const source = await uploadVideo(service, clip ?? "", { alias: "Campus" });
  sourceUuid = source.uuid;
  const unlocated = await start(1_000);
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
  await untilShown(page, "background");
  await untilShown(page, "terrain");
  await page.getByRole("link", { name: "https://example.org/map" }).waitFor();
  await photograph(page, "map");

  // Wheel, mouse and keys: each of them changes the map.
  const box = (await mapOf(page).boundingBox()) ?? assert.fail();
  await page.mouse.move(box.x + 200, box.y + 150);
  await untilDrawn(page, () => page.mouse.wheel(0, -300));
  await page.mouse.down();
  await untilDrawn(page, () => page.mouse.move(box.x + 300, box.y + 200));
  await page.mouse.up();
  await mapOf(page).focus();
  for (const key of ["ArrowLeft", "+", "-", "0"]) await untilDrawn(page, () => page.keyboard.press(key));
  for (const name of ["Zoom in", "Zoom out", "Show all"])
    await untilDrawn(page, () => page.getByRole("button", { name }).click());
  for (let i = 0; i < 7; i++) await untilDrawn(page, () => page.getByRole("button", { name: "Zoom out" }).click());
  await untilShown(page, "terrain");
  assert.deepEqual([...referrers], [`${service.url}/`], "hosts of tiles see the service, not the page");
  await page.close();
});

test("does not redraw the map while nothing changes", { skip }, async () => {
  const page = await signIn(browser, service.url, { page: "map" });
  await page.getByText(/^Table: 1 camera, [1-9]/).waitFor();
  const { uuid } = await findRunning();
  await service.expect(200, "POST", `/process/${uuid}/pause`);
  await untilPage(page, IS_IDLE);
  await service.expect(200, "POST", `/process/${uuid}/resume`);
  await page.close();
});

test("shows any time of a process: by the slider, and played", { skip }, async () => {
  const { uuid, started_at } = await findRunning();
  const startMs = Date.parse(started_at ?? "");
  // The page shows what is older than 2 s.
  await poll("it has run for some seconds", () => Date.now() > startMs + 13_000);
  const page = await signIn(browser, service.url, { page: "map" });
  await page.getByRole("combobox", { name: "Show" }).selectOption(uuid);
  const slider = page.getByRole("slider", { name: "Time" });
  // At its beginning, no object has been seen; the first frame may have a position of the camera.
  await page.getByText(/^Table: [01] cameras?, 0 tracks/).waitFor();
  assert.equal(await slider.inputValue(), String(startMs));
  await slider.fill(String(startMs + 8_000));
  await page.getByText(/^Table: 1 camera, [1-9]/).click();
  const table = page.getByRole("table", { name: "Cameras and tracks" });
  assert.match(await table.innerText(), /-17\.000000, 179\.999900/);
  assert.match(await table.innerText(), /person \d+/);
  const shown = await table.innerText();
  await page.getByText(/^Table:/).click();
  await photograph(page, "map-history");
  const before = Number(await slider.inputValue());
  await page.getByRole("button", { name: "Play" }).click();
  await untilPage(page, `document.querySelector("input[type=range]").value > ${before + 1_000}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText(/^Table: 1 camera, [1-9]/).click();
  assert.notEqual(await table.innerText(), shown, "it moves on");
  await page.getByRole("combobox", { name: "Show" }).selectOption("");
  await mapOf(page).waitFor();
  await page.close();
});

test("attaches an output for TAK, whose events arrive", { skip }, async () => {
  const receiver = createSocket("udp4");
  receiver.bind(0, "127.0.0.1");
  await once(receiver, "listening");
  const { uuid } = await findRunning();
  const page = await signIn(browser, service.url, { page: `processes/${uuid}` });
  await page.getByText("Attach an output").click();
  await page.getByLabel("Type").selectOption("cot");
  await page.getByLabel("Address", { exact: true }).fill(`udp://127.0.0.1:${receiver.address().port}`);
  await page.getByLabel(/^Callsign/).fill("Mast");
  await photograph(page, "output-tak");
  const arrived = once(receiver, "message", { signal: AbortSignal.timeout(60_000) });
  await page.getByRole("button", { name: "Attach", exact: true }).click();
  await page.getByRole("button", { name: "Detach Mast" }).waitFor();
  assert.match(String((await arrived)[0]), /<event [^>]*type="/);
  await page.getByRole("button", { name: "Detach Mast" }).click();
  await page.getByText("No outputs attached").waitFor();
  receiver.close();
  await page.close();
});

test("calibrates the heading with a landmark in a frame, and removes the calibration", { skip }, async () => {
  const { uuid } = await findRunning();
  const page = await signIn(browser, service.url, { page: `processes/${uuid}` });
  const heading = page.getByRole("region", { name: "Heading" });
  await heading.getByText("Used as the telemetry reports it.").waitFor();
  await heading.getByRole("button", { name: "Calibrate" }).click();
  const dialog = page.getByRole("dialog", { name: "Calibrate the heading" });
  const frame = dialog.getByRole("group", { name: "Landmark" });
  await dialog.getByRole("button", { name: "Calibrate" }).waitFor();
  // By a click on the map, around the camera.
  await dialog.getByRole("button", { name: "Choose on the map" }).click();
  await untilPage(page, `document.querySelector("dialog [data-drawn]") !== null`);
  const map = dialog.getByRole("application", { name: /^Map around the camera/ });
  await map.click({ position: { x: 120, y: 60 } });
  await untilPage(page, `document.querySelector("input[name=latitude]").value !== ""`);
  const clicked = Number(await dialog.getByLabel("Latitude").inputValue());
  assert.ok(Math.abs(clicked + 17) < 0.01, `${clicked}`);
  assert.ok(180 - Math.abs(Number(await dialog.getByLabel("Longitude").inputValue())) < 0.01);
  await dialog.getByRole("button", { name: "Use the middle of the map" }).click();
  assert.notEqual(Number(await dialog.getByLabel("Latitude").inputValue()), clicked);
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
  await service.expect(200, "DELETE", "/processes");
  await start();
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

  const { uuid } = await findRunning();
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
  const json = { params: { every: 1_000 } };
  const started = await service.expect<StartedProcess>(
    ...([201, "POST", `/start?source_uuid=${source.uuid}`, { json, key }] as const),
  );
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

test("pages send requests only to the service and the host of tiles, and do not violate their security policy", {
  skip,
}, () => {
  const isOwn = (url: string) => url.startsWith(service.url) || /^(blob|data):/.test(url);
  const isTile = (url: string) => url.startsWith(tileOrigin) && /\/\d+\/\d+\/\d+\.png$/.test(url);
  assert.deepEqual(
    browser.requested.filter((url) => !isOwn(url) && !isTile(url)),
    [],
    "except for tiles of the configured host",
  );
  assert.deepEqual(browser.complaints, []);
  assert.ok(!browser.requested.some((url) => url.includes(MASTER_KEY)), "no address contains the key");
});
