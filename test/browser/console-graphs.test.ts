/** The graph editor and the pipeline of a process in a browser: completion, tests, and the frames on an edge. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import type { HeadlessBrowser } from "../../tools/bench/media/browser.ts";
import { createKey, TestService, uploadVideo } from "../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { photograph, signIn, untilPage } from "./console-visitor.fixture.ts";

/** Longer than the tests take on a busy machine. */
const FRAMES = 15_000;
/**
 * Frames of two runners are compared if they are less than half an interval apart, and 100 ms at most. A runner that drops a
 * frame infers others than before: at 25 fps each has a partner with this, whichever they are.
 */
const EVERY = 4;
const folder = temporaryFolder();

const yard = (frames: number) => `graph: yard
about: Resizes the video.
params:
  height: { enum: [360p, 720p], default: 360p }
chains:
  main:
    - source
    - decode
    - stage
    - resize: { to: $height }
    - tee: { name: frames }
  small:
    - from: frames
    - stage
    - jpegenc
    - fakesink
tests:
  ball:
    clip: test:ball?frames=20
    expect: { frames: ${frames} }
`;

let service: TestService;
let browser: HeadlessBrowser;
let page: Page;
let key: string;

before(async () => {
  [service, browser] = await Promise.all([TestService.start(), openBrowser()]);
  key = await createKey(service, "ada", "--graph-author");
  await service.expect(201, "PUT", "/graphs/yard", { json: { yaml: yard(20) }, key });
  page = await signIn(browser, service.url, { key, page: "graphs/yard/edit" });
  await page.getByText("No errors.").waitFor();
});
after(async () => {
  await browser?.close();
  await service?.close();
});

const editor = () => page.getByRole("textbox", { name: "Graph text" });

async function write(text: string): Promise<void> {
  await editor().click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

test("runs the tests of the graph, and marks what failed", async () => {
  await page.getByRole("button", { name: "Run the tests", exact: true }).click();
  const results = page.getByRole("region", { name: "Results of the tests" });
  await results.getByText("1 test passed").waitFor();
  await results.getByText("is 20, expected 20").waitFor();
  await write(yard(3));
  await page.getByText("Your changes stay in this tab.").waitFor();
  await page.getByRole("button", { name: "Save as yard and run the tests" }).click();
  await results.getByText("1 of 1 test failed").waitFor();
  await results.getByText("(version 2)").waitFor();
  await page.getByText("Saved as yard.").waitFor();
  assert.equal(await page.getByText("Your changes stay in this tab.").count(), 0);
  await results.getByRole("button", { name: "Line 20" }).click();
  await page.locator(".cm-lint-marker-error").waitFor();
  await photograph(page, "graph-tests");
});

test("completes elements, properties, values, params and variables while typing", async () => {
  const options = page.locator(".cm-tooltip-autocomplete [role=option]");
  const type = async (text: string): Promise<void> => {
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(text.slice(0, -1));
    await page.keyboard.type(text.slice(-1));
  };
  const HEAD = "graph: yard\nparams:\n  height: { enum: [360p, 720p] }\nchains:\n  main: [source, ";
  for (const [text, label] of [
    [`${HEAD}geol`, "geolocate"],
    [`${HEAD}{ detect: { conf`, "confidence"],
    [`${HEAD}{ encode: { codec: h2`, "h265"],
    [`${HEAD}{ resize: { to: $h`, "height"],
    [`${HEAD}{ filter: { where: clas`, "class_name"],
  ] as const) {
    await editor().click();
    await type(text);
    await options.filter({ hasText: label }).first().waitFor();
  }
  await photograph(page, "graph-completion");
  await page.keyboard.press("Enter");
  assert.match(await editor().innerText(), /where: class_(name|id)/);
});

test("shows the frame and the caps of an edge, again and again while it is open", async () => {
  const { uuid: source_uuid } = await uploadVideo(service, await makeClip(folder, FRAMES), {
    alias: "Yard",
    key,
  });
  const { process_uuid: uuid } = await service.expect<{ process_uuid: string }>(
    ...([201, "POST", `/start?source_uuid=${source_uuid}&graph=yard`, { json: {}, key }] as const),
  );
  await page.goto(`${service.url}/console/processes/${uuid}`);
  await page.getByText("Pipeline", { exact: true }).click();
  await page.getByRole("button", { name: "Look between resize and frames" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("img", { name: "The frame" }).waitFor();
  const picture = "document.querySelector('dialog img')";
  await untilPage(page, `${picture}.naturalWidth > 0`);
  const first = await page.evaluate(`${picture}.src`);
  await photograph(page, "graph-edge");
  await untilPage(page, `${picture}.src !== ${JSON.stringify(first)}`);
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Look between jpegenc and fakesink" }).click();
  await dialog.getByText("There are only pictures of raw video, and this is image/jpeg.").waitFor();
  await photograph(page, "graph-edge-encoded");
  await service.expect(200, "DELETE", `/process/${uuid}`, { key });
});

test("starts a shadow beside a running process, and shows how far they agree", async () => {
  const { sources } = await service.expect<{ sources: { uuid: string }[] }>(200, "GET", "/sources", { key });
  const source = sources[0]?.uuid ?? assert.fail();
  const { process_uuid: uuid } = await service.expect<{ process_uuid: string }>(
    ...([201, "POST", `/start?source_uuid=${source}`, { json: { params: { every: EVERY } }, key }] as const),
  );
  await page.goto(`${service.url}/console/processes/${uuid}`);
  await page.getByText("Compare a variant", { exact: true }).click();
  const panel = page.getByRole("region", { name: "Shadow" });
  await panel.getByText("Parameters", { exact: true }).click();
  await panel.getByLabel("confidence", { exact: true }).fill("0.6");
  await panel.getByRole("button", { name: "Start the shadow" }).click();
  await panel.getByText(/of the boxes, in [1-9]\d* frames/).waitFor();
  const { params } = await service.expect<{ params: Record<string, unknown> }>(
    ...([200, "GET", `/process/${uuid}/shadow`, { key }] as const),
  );
  assert.deepEqual([params.confidence, params.every], [0.6, EVERY]);
  await photograph(page, "shadow");
  await panel.getByRole("button", { name: "End the shadow" }).click();
  await panel.getByRole("button", { name: "Start the shadow" }).waitFor();
});
