/** The colours that a person sees, for objects with a clear colour. The labels are ours, the images are not. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { enhanceTrack } from "../../../enhance/enhance-track.ts";
import { cutPatches } from "./patches.ts";

const COCO = fileURLToPath(new URL("../../../../shared/data/coco", import.meta.url));

/** By picture and the corner of the box. */
const JUDGED: Readonly<Record<string, string>> = {
  "000000155341.jpg 152,285": "red",
  "000000155341.jpg 50,214": "red",
  "000000155341.jpg 263,220": "orange",
  "000000184324.jpg 277,237": "blue",
  "000000460229.jpg 227,300": "blue",
  "000000402433.jpg 139,15": "red",
};
const isMissing = !existsSync(join(COCO, "instances.json"));

test("nine of ten clear colours of real vehicles are right", {
  skip: isMissing && "the pictures are not here",
}, async () => {
  const patches = cutPatches(COCO, { classNames: ["car", "bus", "truck", "motorcycle"], leastPixels: 60 });
  assert.deepEqual(patches.map(({ name }) => name).sort(), Object.keys(JUDGED).sort());
  const wrong: string[] = [];
  for (const patch of patches) {
    const { colour } = await enhanceTrack({ id: 1, ...patch }, {});
    if (colour?.name !== JUDGED[patch.name]) wrong.push(`${patch.name}: ${colour?.name}`);
  }
  assert.ok(wrong.length <= patches.length / 10, wrong.join("; "));
});
