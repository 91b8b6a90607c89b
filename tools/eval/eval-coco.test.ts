import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, windhover } from "../../cli/windhover.fixture.ts";

const folder = makeFolder();

/** One picture of a few colours, made here. */
function makeDataset(categories: readonly string[]): string {
  const dataset = join(folder, categories.join("-"));
  mkdirSync(join(dataset, "images"), { recursive: true });
  const ppm = Buffer.concat([Buffer.from("P6\n64 48\n255\n"), Buffer.alloc(64 * 48 * 3, 128)]);
  writeFileSync(join(dataset, "images", "a.ppm"), ppm);
  const images = [{ id: 1, file_name: "a.ppm", width: 64, height: 48 }];
  const annotations = [{ image_id: 1, category_id: 0, bbox: [1, 1, 20, 20] }];
  const instances = { images, annotations, categories: categories.map((name, id) => ({ id, name })) };
  writeFileSync(join(dataset, "instances.json"), JSON.stringify(instances));
  return dataset;
}

test("fails for a model without any of the classes and names them", async () => {
  const none = await windhover(["eval", "coco", makeDataset(["unicorn"])]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /the model "default" has none of the classes of the dataset: unicorn/);
});

test("rejects a bad command line before any inference", async () => {
  for (const [args, expected] of [
    [[], /missing: one DIR/],
    [[folder, "--confidence", "2"], /--confidence is "2"; expected a number between 0 and 1/],
    [[folder, "--plot", join(folder, "none", "a.svg")], /there is no folder/],
    [[join(folder, "none")], /there is no folder .*none; expected one with images/],
    [[makeDataset(["person"]), "--model", "nothing"], /nothing/],
  ] as const) {
    const { code, stderr } = await windhover(["eval", "coco", ...args]);
    assert.ok(code === 1 || code === 2, stderr);
    assert.match(stderr, expected);
  }
});
