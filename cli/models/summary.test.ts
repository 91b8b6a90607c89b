import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeYolox } from "../../models/onnx.fixture.ts";
import { FOLDERS_VARIABLE, NO_FOLDERS, shareFolders } from "../../schemas/folders.ts";
import { makeFolder } from "../windhover.fixture.ts";
import { listInstalled } from "./summary.ts";

const folder = makeFolder();
shareFolders({ ...NO_FOLDERS, models: [folder] });
after(() => delete process.env[FOLDERS_VARIABLE]);

const CARD = `model: things
about: Finds nothing.
licence: MIT
sources: [{ path: things.onnx }]
sha256: ${"a".repeat(64)}
input: { width: 64, height: 64, colours: bgr, anchor: top-left }
labels: [cat, dog]
decoder: { family: yolox }
`;
const file = join(folder, "things.yaml");
const labels = async () => (await listInstalled()).find(({ name }) => name === "things")?.labels ?? null;

test("lists installed models as their files are now, although cards are not read again", async () => {
  assert.equal(await labels(), null);
  writeFileSync(file, CARD);
  assert.equal(await labels(), null, "its weights are missing");
  writeFileSync(join(folder, "things.onnx"), makeYolox(2));
  assert.deepEqual(await labels(), ["cat", "dog"]);
  assert.deepEqual(await labels(), ["cat", "dog"]);
  writeFileSync(file, CARD.replace("cat, dog", "fox, wolf"));
  assert.deepEqual(await labels(), ["fox", "wolf"]);
  writeFileSync(file, CARD.replace("labels: [cat, dog]", "labels: ["));
  assert.equal(await labels(), null);
  rmSync(file);
  assert.equal(await labels(), null);
});
