/** The recipes: their own tests, what those cannot express, and that docs/recipes.md shows the graphs as they are. */
import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import jpeg from "jpeg-js";
import type { DetectionMessage, TrackEntry } from "../schemas/detection-message.ts";
import { MISSING_CLIP, testClip } from "./clips.fixture.ts";
import { runLine } from "./docs/command-lines.ts";
import { findPage, ROOT } from "./docs/pages.ts";
import { withoutModel } from "./golden/golden.fixture.ts";
import { drawCar } from "./golden/picture.fixture.ts";
import { CAMERA, paintStreet } from "./golden/street.fixture.ts";
import { temporaryFolder } from "./graph.fixture.ts";

const RECIPES = join(ROOT, "graphs/recipes");
const names = readdirSync(RECIPES).map((file) => file.replace(".yaml", ""));
const read = (name: string): string => readFileSync(join(RECIPES, `${name}.yaml`), "utf8");

const folder = temporaryFolder();
const vtest = testClip("vtest.avi");
const noModel = await withoutModel("default");
const noClip = noModel || (vtest === null && MISSING_CLIP);

/** The clips that the tests of recipes name, beside the recipes. */
function fillFolder(): void {
  for (const name of names) copyFileSync(join(RECIPES, `${name}.yaml`), join(folder, `${name}.yaml`));
  if (vtest !== null) symlinkSync(vtest, join(folder, "vtest.avi"));
  paintStreet(join(folder, "street.y4m"));
  const seconds = [0, 1, 2, 3, 4, 5];
  const telemetry = seconds.map((timestamp) => `${JSON.stringify({ timestamp, ...CAMERA })}\n`);
  writeFileSync(join(folder, "street.ndjson"), telemetry.join(""));
  paintStreet(join(folder, "car-park.y4m"), 90, (still, frame) => {
    const picture = still.copy();
    drawCar(picture, 150, 276, 160, [176, 34, 36]);
    drawCar(picture, 760 - frame * 9, 342, 200, [40, 84, 156], -1);
    return picture;
  });
}
fillFolder();

async function run(words: string): Promise<readonly DetectionMessage[]> {
  const { code, out, err } = await runLine(`npx windhover run ${words}`);
  assert.equal(code, 0, err);
  return out
    .split("\n")
    .filter((line) => line.includes('"active_tracks"'))
    .map((line) => JSON.parse(line));
}

const secondsOf = ({ timestamp }: DetectionMessage): number => Date.parse(timestamp) / 1000;

describe("the tests of the recipe", () => {
  for (const name of names.filter((one) => /^tests:/m.test(read(one))))
    test(name, { skip: read(name).includes("vtest.avi") ? noClip : noModel }, async () => {
      const { code, out, err } = await runLine(`npx windhover test ${join(folder, name)}.yaml`);
      assert.equal(code, 0, out + err);
    });
});

test("parking-occupancy: a parked car stays parked while another one passes", { skip: noModel }, async () => {
  const messages = await run(`parking-occupancy ${folder}/car-park.y4m seconds=1`);
  const free = (from: number, to: number) =>
    new Set(messages.filter((one) => secondsOf(one) >= from && secondsOf(one) < to).map(({ values }) => values?.free));
  assert.deepEqual([...free(0, 1)], [2]);
  assert.deepEqual([...free(1.2, 9)], [1]);
});

test("vehicle-speed: within a tenth of the true speeds", { skip: noModel }, async () => {
  const messages = await run(`vehicle-speed ${folder}/street.y4m --telemetry ${folder}/street.ndjson`);
  // The middle of a box that the edge of the frame cuts moves more slowly than its vehicle.
  const isWhole = ({ scaled_bbox: [left, , width] }: TrackEntry) => left > 0.01 && left + width < 0.99;
  const last =
    messages.findLast(({ active_tracks: cars }) => cars.length === 2 && cars.every(isWhole)) ?? assert.fail();
  const speeds = last.active_tracks.map(({ values }) => Number(values?.speed_kmh)).sort((a, b) => b - a);
  for (const [i, kmh] of [20, 19.4].entries())
    assert.ok(Math.abs((speeds[i] ?? 0) - kmh) < kmh / 10, `${speeds[i]} instead of ${kmh}`);
});

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

const open = (name: string): Picture => jpeg.decode(readFileSync(join(folder, name)), { useTArray: true });

/** Mean difference of the green of neighbours in a row of a box, in pixels. */
function detailOf({ width, data }: Picture, [left, top, w, h]: readonly number[]): number {
  const green = (x: number, y: number): number => data[(Math.round(y) * width + Math.round(x)) * 4 + 1] ?? 0;
  const [x = 0, y = 0, columns = 0, rows = 0] = [left, top, w, h];
  let sum = 0;
  for (let row = 0; row < Math.floor(rows); row++)
    for (let column = 0; column < Math.floor(columns); column++)
      sum += Math.abs(green(x + column, y + row) - green(x + column + 1, y + row));
  return sum / (Math.floor(rows) * Math.floor(columns));
}

test("privacy-blur: people lose their detail, and the rest of the frame keeps it", { skip: noClip }, async () => {
  const at = (node: string) => `--snapshot ${node}@1s=${folder}/${node}.jpg`;
  const messages = await run(`privacy-blur ${folder}/vtest.avi --frames 15 ${at("decode")} ${at("report")}`);
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
  await run(`mosaic ${first} ${words} path=${folder}/mosaic.mp4 --snapshot videoconvert@0.4s=${folder}/mosaic.jpg`);
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

test("docs/recipes.md shows every recipe as it is, without its first comment and its tests", () => {
  const shown = findPage("docs/recipes.md").blocks.filter(({ language }) => language === "yaml");
  const graphs = names.map((name) =>
    read(name)
      .replace(/^(#.*\n)+/, "")
      .replace(/\ntests:\n[\s\S]*$/, ""),
  );
  assert.deepEqual(shown.map(({ text }) => text.trimEnd()).sort(), graphs.map((text) => text.trimEnd()).sort());
});
