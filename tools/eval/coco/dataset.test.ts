import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CommandFailure } from "../../../cli/command.ts";
import { makeFolder } from "../../../cli/windhover.fixture.ts";
import { readDataset } from "./dataset.ts";

const root = makeFolder();
let made = 0;

/** A dataset on disk; `instances` is written as it is when it is text. */
function make(instances: unknown, files: readonly string[] = ["a.jpg"]): string {
  const folder = join(root, String(made++));
  mkdirSync(join(folder, "images"), { recursive: true });
  for (const file of files) writeFileSync(join(folder, "images", file), "");
  if (instances !== undefined)
    writeFileSync(
      join(folder, "instances.json"),
      typeof instances === "string" ? instances : JSON.stringify(instances),
    );
  return folder;
}

const IMAGES = [{ id: 7, file_name: "a.jpg", width: 64, height: 48, license: 1 }];
const CATEGORIES = [
  { id: 1, name: "person" },
  { id: 90, name: "toothbrush" },
];
const annotation = (more: object) => ({ image_id: 7, category_id: 90, bbox: [1, 2, 3, 4], ...more });

test("objects come with their picture, by the names of their classes", () => {
  const annotations = [annotation({ area: 5.5, iscrowd: 0 }), annotation({ category_id: 1, iscrowd: 1 })];
  const folder = make({ images: IMAGES, annotations, categories: CATEGORIES });
  assert.deepEqual(readDataset(folder), {
    classNames: ["person", "toothbrush"],
    pictures: [
      {
        ...{ file: join(folder, "images", "a.jpg"), width: 64, height: 48 },
        truth: [
          { className: "toothbrush", box: [1, 2, 3, 4], area: 5.5, isCrowd: false },
          { className: "person", box: [1, 2, 3, 4], area: 12, isCrowd: true },
        ],
      },
    ],
  });
});

for (const [behaviour, instances, expected] of [
  ["a folder without annotations", undefined, /instances\.json cannot be read: there is no such file/],
  ["text that is not JSON", "{", /instances\.json is not valid JSON/],
  ["JSON of another kind", { images: [] }, /not in COCO's format: it must have required property/],
  [
    "a box with three numbers",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ bbox: [1, 2, 3] })] },
    /annotations\[0\]\.bbox must NOT have fewer than 4 items/,
  ],
  [
    "a box of negative width",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ bbox: [1, 2, -3, 4] })] },
    /annotations\[0\]\.bbox\[2\] must be >= 0/,
  ],
  [
    "a box of negative height",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ bbox: [1, 2, 3, -4] })] },
    /annotations\[0\]\.bbox\[3\] must be >= 0/,
  ],
  [
    "a negative area",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ area: -1 })] },
    /annotations\[0\]\.area must be >= 0/,
  ],
  [
    "two classes of one name",
    { images: IMAGES, categories: [...CATEGORIES, { id: 2, name: "person" }], annotations: [] },
    /categories\[2\] has the name "person", as categories\[0\] has; expected each value once/,
  ],
  [
    "two classes of one id",
    { images: IMAGES, categories: [...CATEGORIES, { id: 90, name: "car" }], annotations: [] },
    /categories\[2\] has the id 90, as categories\[1\] has; expected each value once/,
  ],
  [
    "two pictures of one id",
    { images: [...IMAGES, { ...IMAGES[0], file_name: "b.jpg" }], categories: CATEGORIES, annotations: [] },
    /images\[1\] has the id 7, as images\[0\] has; expected each value once/,
  ],
  [
    "a picture listed twice",
    { images: [...IMAGES, { ...IMAGES[0], id: 8 }], categories: CATEGORIES, annotations: [] },
    /images\[1\] has the file_name "a\.jpg", as images\[0\] has; expected each value once/,
  ],
  [
    "two objects of one id",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ id: 3 }), annotation({ id: 3 })] },
    /annotations\[1\] has the id 3, as annotations\[0\] has; expected each value once/,
  ],
  [
    "an object of a class that is not there",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ category_id: 5 })] },
    /annotations\[0\] refers to category 5, which the file does not have/,
  ],
  [
    "an object of a picture that is not there",
    { images: IMAGES, categories: CATEGORIES, annotations: [annotation({ image_id: 8 })] },
    /annotations\[0\] refers to image 8/,
  ],
  [
    "pictures that are missing",
    { images: [...IMAGES, { ...IMAGES[0], id: 8, file_name: "b.jpg" }], categories: CATEGORIES, annotations: [] },
    /1 of 2 images are missing: .*b\.jpg/,
  ],
] as const)
  test(`reports ${behaviour}`, () =>
    assert.throws(
      () => readDataset(make(instances)),
      (error) => error instanceof CommandFailure && expected.test(error.message),
    ));

test("reports a missing folder", () => {
  assert.throws(() => readDataset(join(root, "none")), /there is no folder .*none; expected one with images/);
});
