import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodePictureHead, PictureReader, type StreamedPicture } from "./picture-stream.ts";

const picture = fc.record({
  captureMs: fc.double({ noNaN: true, min: 0, max: 1e13 }),
  attachment: fc.string({ maxLength: 40 }).map((name) => Buffer.from(name).toString("utf8")),
  bytes: fc.uint8Array({ maxLength: 300 }),
});

const plain = ({ captureMs, attachment, bytes }: StreamedPicture) => [captureMs, attachment, [...bytes]];

test("reads frames from chunks of any size", () => {
  fc.assert(
    fc.property(fc.array(picture, { maxLength: 5 }), fc.array(fc.integer({ min: 1, max: 60 })), (sent, cuts) => {
      let rest = Buffer.concat(sent.flatMap((one) => [encodePictureHead(one), one.bytes]));
      const reader = new PictureReader();
      const got: StreamedPicture[] = [];
      for (const cut of cuts) {
        got.push(...reader.read(rest.subarray(0, cut)));
        rest = rest.subarray(cut);
      }
      got.push(...reader.read(rest));
      assert.deepEqual(got.map(plain), sent.map(plain));
    }),
  );
});

for (const [what, bytes] of [
  ["too long", Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ["too short", Buffer.from([0, 0, 0, 1])],
  ["shorter than its name", Buffer.from([0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 5])],
] as const)
  test(`rejects a frame that is ${what} before storing it`, () =>
    assert.throws(() => new PictureReader().read(bytes), /invalid frame/));
