import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { compiledLaunch, start } from "../../../test/graph.fixture.ts";
import { CommandFailure } from "../../command.ts";
import { makeFolder } from "../../windhover.fixture.ts";
import { lookAt } from "./look.ts";

const folder = makeFolder();
const SIZE = { width: 101, height: 75 };

async function makePicture(name: string, format: string, encoder: string): Promise<string> {
  const file = join(folder, name);
  const caps = `video/x-raw,format=${format},width=${SIZE.width},height=${SIZE.height}`;
  const line = `videotestsrc num-buffers=1 ! capsfilter caps="${caps}" ! ${encoder} ! filesink location="${file}"`;
  const graph = await start(compiledLaunch(line), []);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  return file;
}

const look = (files: readonly string[], size = SIZE) =>
  lookAt({
    pictures: files.map((file) => ({ file, ...size, truth: [] })),
    ...{ model: "default", confidence: 0.01, onPicture() {} },
  });

test("pictures of every kind are looked at, with one model for all", async () => {
  const files = await Promise.all([
    makePicture("colour.jpg", "I420", "jpegenc"),
    makePicture("full-colour.jpg", "Y444", "jpegenc"),
    makePicture("grey.jpg", "GRAY8", "jpegenc"),
    makePicture("rgb.png", "RGB", "pngenc"),
  ]);
  const found = await look(files);
  assert.equal(found.length, 4);
  for (const { box } of found.flat()) assert.ok(box.every((edge) => edge >= 0 && edge <= 1));
  // The same picture with less colour: a network that saw it sees about the same.
  assert.ok((found[0]?.length ?? 0) > 0);
  assert.ok((found[1]?.length ?? 0) > 0);
});

test("a file that is no picture is named", async () => {
  const file = join(folder, "text.jpg");
  writeFileSync(file, "this is no picture\n");
  await assert.rejects(look([file]), (error) => error instanceof CommandFailure && error.message.includes(file));
});

test("a picture of another size than the annotations say is refused", async () => {
  const file = await makePicture("other.jpg", "I420", "jpegenc");
  await assert.rejects(look([file], { width: 640, height: 480 }), /is 101×75, but instances\.json says 640×480/);
});
