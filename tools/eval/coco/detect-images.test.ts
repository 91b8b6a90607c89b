import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Type } from "typebox";
import { CommandFailure } from "../../../cli/command.ts";
import { makeFolder } from "../../../cli/windhover.fixture.ts";
import decode from "../../../elements/decode/decode.ts";
import detectElement from "../../../elements/detect/detect.ts";
import { type AnyElement, defineElement } from "../../../elements/element.ts";
import { paintStreet } from "../../../test/golden/street.fixture.ts";
import { compiledLaunch, inputWith, start, typeOf } from "../../../test/graph.fixture.ts";
import { detectImages, findJpegFault } from "./detect-images.ts";

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

const detect = (files: readonly string[], size = SIZE, ...extra: readonly AnyElement[]) =>
  detectImages(
    {
      pictures: files.map((file) => ({ file, ...size, truth: [] })),
      ...{ model: "default", confidence: 0.01, onPicture() {} },
    },
    inputWith(...extra),
  );

test("detects in images of every format, with one model", async () => {
  const files = await Promise.all([
    makePicture("colour.jpg", "I420", "jpegenc"),
    makePicture("full-colour.jpg", "Y444", "jpegenc"),
    makePicture("grey.jpg", "GRAY8", "jpegenc"),
    makePicture("rgb.png", "RGB", "pngenc"),
  ]);
  const found = await detect(files);
  assert.equal(found.length, 4);
  for (const { box } of found.flat()) assert.ok(box.every((edge) => edge >= 0 && edge <= 1));
  // The same picture with less colour: a network that saw it sees about the same.
  assert.ok((found[0]?.length ?? 0) > 0);
  assert.ok((found[1]?.length ?? 0) > 0);
});

test("names a file that is not an image", async () => {
  const file = join(folder, "text.jpg");
  writeFileSync(file, "this is not an image\n");
  await assert.rejects(detect([file]), (error) => error instanceof CommandFailure && error.message.includes(file));
});

test("names an incomplete image and where it ends", async () => {
  const whole = readFileSync(await makePicture("to-be-cut.jpg", "I420", "jpegenc"));
  const file = join(folder, "cut.jpg");
  writeFileSync(file, whole.subarray(0, whole.length - 100));
  await assert.rejects(detect([file]), (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.equal(
      error.message,
      `${file} is incomplete: it ends at byte ${whole.length - 100}, in the middle of the image`,
    );
    return true;
  });
});

/** In the place of the real one: finds nothing. */
const detectNothing = (warning?: string): AnyElement =>
  defineElement({
    kind: "transform",
    name: "detect",
    about: "Test: may warn, and finds nothing.",
    example: "",
    ...typeOf(detectElement),
    properties: Type.Object({ model: Type.String(), confidence: Type.Number(), weak: Type.Number() }),
    writes: ["detections"],
    create: (_, { log }) => ({
      process(frame) {
        if (warning !== undefined) log.warn(warning);
        frame.write({ detections: { inferred: true, model: "sham", confidence: 0.5, objects: [], weak: [] } });
      },
    }),
  });

const decodeWarning = (warning: string): AnyElement =>
  defineElement({
    ...decode,
    open(_, { log }) {
      log.warn(warning);
      return { close() {} };
    },
  } as typeof decode);

test("what a decoder warns of is a failure that names the picture; what the model warns of is not", async () => {
  const file = join(folder, "street.y4m");
  paintStreet(file, 1);
  const size = { width: 640, height: 360 };
  await assert.rejects(
    detect([file], size, decodeWarning("half of it is missing"), detectNothing()),
    (error) => error instanceof CommandFailure && error.message === `${file} is damaged: half of it is missing`,
  );
  assert.deepEqual(await detect([file], size, detectNothing("slower than it might be")), [[]]);
});

test("a picture of another size than the annotations say is refused", async () => {
  const file = await makePicture("other.jpg", "I420", "jpegenc");
  await assert.rejects(detect([file], { width: 640, height: 480 }), /is 101×75, but instances\.json has 640×480/);
});

const COMMENT = [0xff, 0xfe, 0, 4, 0xff, 0xd9];
const FRAME = [0xff, 0xc0, 0, 5, 8, 0, 1];
/** With a stuffed 0xff and a restart marker. */
const SCAN = [0xff, 0xda, 0, 3, 1, 7, 0xff, 0, 9, 0xff, 0xd0, 5];
const END = [0xff, 0xd9];
const jpeg = (...parts: readonly (readonly number[])[]): Uint8Array => Uint8Array.from([0xff, 0xd8, ...parts.flat()]);

const WHOLE = jpeg(COMMENT, FRAME, SCAN, COMMENT, SCAN, [0xff], END);

test("a whole one has no fault, with whatever follows its end", () => {
  assert.equal(findJpegFault(WHOLE), null);
  assert.equal(findJpegFault(Uint8Array.from([...WHOLE, 1, 2, 3])), null);
});

test("reports an image that ends anywhere", () => {
  for (let length = 2; length < WHOLE.length; length++)
    assert.match(findJpegFault(WHOLE.subarray(0, length)) ?? "", /^is incomplete: it ends at byte/, `at ${length}`);
});

for (const [what, bytes, fault] of [
  ["noise between markers", jpeg(FRAME, [1, 2], SCAN, END), /^is damaged: expected a marker at byte 9$/],
  ["noise within a scan", jpeg(FRAME, SCAN, [0xff, 0x13], END), /^is damaged: marker 0x13 at byte 21$/],
  ["tables alone", jpeg(FRAME, END), /^contains no image$/],
] as const)
  test(`reports ${what}`, () => assert.match(findJpegFault(bytes) ?? "", fault));

test("what is not a JPEG is left to its decoder", () => {
  for (const bytes of [[], [0xff], [0x89, 0x50], [0x50, 0x36]])
    assert.equal(findJpegFault(Uint8Array.from(bytes)), null);
});
