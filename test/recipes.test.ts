/** The recipes: their own tests, what those cannot express, and that docs/recipes.md shows the graphs as they are. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { readGolden } from "../cli/golden/golden.ts";
import type { TrackEntry } from "../schemas/detection-message.ts";
import { MISSING_CLIP, testClip } from "./clips.fixture.ts";
import { runLine } from "./docs/command-lines.ts";
import { findPage } from "./docs/pages.ts";
import { withoutModel } from "./golden/golden.fixture.ts";
import { temporaryFolder } from "./graph.fixture.ts";
import {
  detailOf,
  GOLDENS,
  needsVtest,
  openPicture,
  type Pixels,
  probeVideo,
  RECIPE_NAMES,
  type RecipeRun,
  readRecipe,
  runRecipe,
  secondsOf,
  writeClips,
} from "./recipes.fixture.ts";

const folder = temporaryFolder();
const noModel = await withoutModel("default");
const noClip = noModel || (testClip("vtest.avi") === null && MISSING_CLIP);
/**
 * Golden files are compared on the kind of machine that recorded them: others round differently, and detections near the
 * limit of confidence, as those of the dark and of small people, come and go with that. Others record files of their own.
 */
const goldenOf = (name: string): string => join(GOLDENS, `${name}.golden.ndjson`);
const isOfThisMachine = (name: string): boolean =>
  existsSync(goldenOf(name)) && readGolden(goldenOf(name), "").header.machine === process.arch;
const forThisMachine = (name: string): string =>
  isOfThisMachine(name) ? readRecipe(name) : readRecipe(name).replace("golden: golden/", "golden: recorded/");

// Beside the clips and golden files that their tests name.
for (const name of RECIPE_NAMES) writeFileSync(join(folder, `${name}.yaml`), forThisMachine(name));
symlinkSync(GOLDENS, join(folder, "golden"));
mkdirSync(join(folder, "recorded"));
await writeClips(folder);
const isUpdating = process.env.UPDATE_GOLDEN === "1";

describe("the tests of the recipe", () => {
  for (const name of RECIPE_NAMES.filter((one) => /^tests:/m.test(readRecipe(one))))
    test(name, { skip: needsVtest(name) ? noClip : noModel }, async () => {
      const { code, out, err } = await runLine(
        `npx windhover test ${join(folder, name)}.yaml${isUpdating || !isOfThisMachine(name) ? " --record" : ""}`,
      );
      assert.equal(code, 0, out + err);
    });
});

/** What the test of the recipe with a golden file has sent: the same run again would take as long. */
function readRun(name: string): RecipeRun {
  const file = isOfThisMachine(name) ? goldenOf(name) : join(folder, `recorded/${name}.golden.ndjson`);
  const { said } = readGolden(file, "");
  const sent = <T>(channel: string): T[] =>
    said.filter((one) => one.channel === channel).map(({ message }) => message as unknown as T);
  return { messages: sent("detection_data"), events: sent("alerts") };
}

test("every recipe has a golden file, except for the mosaic, which sends no messages", () => {
  for (const name of RECIPE_NAMES.filter((one) => one !== "mosaic")) {
    assert.match(readRecipe(name), new RegExp(`golden: golden/${name}\\.golden\\.ndjson`));
    assert.ok(existsSync(join(GOLDENS, `${name}.golden.ndjson`)), name);
  }
});

test("parking-occupancy: a parked car stays parked while another one passes", { skip: noModel }, () => {
  const { messages } = readRun("parking-occupancy");
  const free = (from: number, to: number) =>
    new Set(messages.filter((one) => secondsOf(one) >= from && secondsOf(one) < to).map(({ values }) => values?.free));
  assert.deepEqual([...free(0, 1)], [2]);
  assert.deepEqual([...free(1.2, 9)], [1]);
});

test("vehicle-speed: within a tenth of the true speeds", { skip: noModel }, () => {
  const { messages } = readRun("vehicle-speed");
  // The middle of a box that the edge of the frame cuts moves more slowly than its vehicle.
  const isWhole = ({ scaled_bbox: [left, , width] }: TrackEntry) => left > 0.01 && left + width < 0.99;
  const last =
    messages.findLast(({ active_tracks: cars }) => cars.length === 2 && cars.every(isWhole)) ?? assert.fail();
  const speeds = last.active_tracks.map(({ values }) => Number(values?.speed_kmh)).sort((a, b) => b - a);
  for (const [i, kmh] of [20, 19.4].entries())
    assert.ok(Math.abs((speeds[i] ?? 0) - kmh) < kmh / 10, `${speeds[i]} instead of ${kmh}`);
});

const open = (name: string) => openPicture(join(folder, name));

test("privacy-blur: people lose their detail, and the rest of the frame keeps it", { skip: noClip }, async () => {
  const at = (node: string) => `--snapshot ${node}@1s=${folder}/${node}.jpg`;
  const { messages } = await runRecipe(
    `privacy-blur ${folder}/vtest.avi --frames 12 every=2 ${at("decode")} ${at("report")}`,
  );
  const { active_tracks } = messages.find((one) => secondsOf(one) === 1) ?? assert.fail();
  const [before, after] = [open("decode.jpg"), open("report.jpg")];
  const people = active_tracks.filter(({ class_name, confidence }) => class_name === "person" && confidence > 50);
  assert.ok(people.length >= 2);
  for (const { bbox } of people) assert.ok(detailOf(after, bbox) < detailOf(before, bbox) / 2, String(bbox));
  const building = [0, 0, before.width, 80];
  assert.ok(detailOf(after, building) > detailOf(before, building) * 0.9);
});

test("mosaic: shows each source in its quarter", async () => {
  const [first, ...others] = ["red", "green", "blue", "white"].map((colour) => `test:${colour}?frames=25`);
  const words = others.map((source, i) => `${["second", "third", "fourth"][i]}=${source}`).join(" ");
  await runRecipe(
    `mosaic ${first} ${words} --video ${folder}/mosaic.mp4 --snapshot videoconvert@0.4s=${folder}/mosaic.jpg`,
  );
  const { width, height, data } = open("mosaic.jpg");
  assert.deepEqual([width, height], [1280, 720]);
  const colourAt = (x: number, y: number): readonly boolean[] =>
    [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)].map((value) => value > 128);
  assert.deepEqual(
    [colourAt(320, 180), colourAt(960, 180), colourAt(320, 540), colourAt(960, 540)],
    [
      [true, false, false],
      [false, true, false],
      [false, false, true],
      [true, true, true],
    ],
  );
});

test("night-mode: finds people that detect does not, in brighter pictures", { skip: noClip }, async () => {
  const countPersons = ({ messages }: RecipeRun): number =>
    messages.flatMap((one) => one.active_tracks).filter((one) => one.class_name === "person").length;
  assert.equal(countPersons(await runRecipe(`detect ${folder}/dark.y4m --frames 7 every=2`)), 0);
  assert.ok(countPersons(readRun("night-mode")) >= 15);
  const at = (node: string) => `--snapshot ${node}@0.3s=${folder}/night-${node}.jpg`;
  await runRecipe(`night-mode ${folder}/dark.y4m --frames 5 every=1000 ${at("decode")} ${at("report")}`);
  const lightOf = ({ data }: Pixels): number => data.reduce((sum, value) => sum + value, 0);
  assert.ok(lightOf(open("night-report.jpg")) > lightOf(open("night-decode.jpg")) * 1.1);
});

test("timelapse: the video is shorter, with objects drawn", { skip: noClip }, async () => {
  const { messages } = await runRecipe(
    `timelapse ${folder}/vtest.avi --frames 40 speed=8 every=20 --video ${folder}/short.mp4`,
  );
  assert.equal(messages.length, 2);
  // Four seconds, eight times as fast, at 25 fps.
  const { frames } = await probeVideo(join(folder, "short.mp4"));
  assert.ok(Math.abs(frames - 12.5) <= 1.5, `${frames} frames`);
});

test("two-resolutions: one video with the size of the source, and a small one", { skip: noClip }, async () => {
  const [large, small] = [join(folder, "large.mp4"), join(folder, "small.mp4")];
  await runRecipe(`two-resolutions ${folder}/vtest.avi --frames 5 every=1000 large=${large} small=${small}`);
  assert.deepEqual(await probeVideo(large), { frames: 5, width: 768, height: 576 });
  assert.deepEqual(await probeVideo(small), { frames: 5, width: 480, height: 360 });
});

test("perimeter: the event has the position of the object inside of the area", { skip: noModel }, () => {
  const [west, south, east, north] = [11.57552, 48.137295, 11.5757, 48.1374];
  const { events } = readRun("perimeter");
  const [{ longitude, latitude } = assert.fail()] = events[0]?.tracks ?? [];
  assert.ok(Number(longitude) >= west && Number(longitude) <= east, `longitude ${longitude}`);
  assert.ok(Number(latitude) >= south && Number(latitude) <= north, `latitude ${latitude}`);
});

test("convoy: has its order, length and speed, and the vehicle that left", { skip: noModel }, () => {
  const { events } = readRun("convoy");
  const [formed = assert.fail(), changed = assert.fail()] = events;
  const { members, gaps_m, length_m, speed_mps } = formed.data as Record<string, unknown>;
  const lefts = formed.tracks.map(({ scaled_bbox: [left] }) => left);
  const fromTheRight = [...lefts].sort((a, b) => b - a);
  assert.deepEqual(lefts, fromTheRight);
  const isNear = (value: unknown, expected: number) =>
    assert.ok(Math.abs(Number(value) - expected) < expected / 7, `${value} instead of ${expected}`);
  // Gaps of 190 pixels, at 39 pixels per metre. The camera has the speed of the cars.
  for (const gap of gaps_m as readonly number[]) isNear(gap, 4.9);
  isNear(length_m, 9.8);
  isNear(speed_mps, 5.1);
  assert.deepEqual(changed.data.left, [(members as readonly number[]).at(-1)]);
});

test("search-and-rescue: an event has the image of the person, and the position", { skip: noClip }, async () => {
  const settings = 'model=default tiles={"columns":3,"rows":2} every=2 seconds=0.2';
  const { events } = await runRecipe(
    `search-and-rescue ${folder}/from-above.y4m --telemetry ${folder}/street.ndjson --frames 5 ${settings}`,
  );
  assert.ok(events.length >= 2);
  for (const { data, tracks } of events) {
    const { image } = data.patch as { image: string };
    assert.deepEqual([...Buffer.from(image, "base64").subarray(0, 2)], [0xff, 0xd8]);
    assert.ok(Math.abs(Number(tracks[0]?.latitude) - 48.1372) < 0.01);
  }
});

test("docs/recipes.md shows every recipe as it is, without its first comment and its tests", () => {
  const shown = findPage("docs/recipes.md").blocks.filter(({ language }) => language === "yaml");
  const graphs = RECIPE_NAMES.map((name) =>
    readRecipe(name)
      .replace(/^(#.*\n)+/, "")
      .replace(/\ntests:\n[\s\S]*$/, ""),
  );
  assert.deepEqual(shown.map(({ text }) => text.trimEnd()).sort(), graphs.map((text) => text.trimEnd()).sort());
});
