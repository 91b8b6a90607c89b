import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { encodePictureHead } from "../../schemas/picture-stream.ts";
import { PictureSockets } from "./picture-sockets.ts";
import type { Picture } from "./processes.ts";

let sockets: PictureSockets;
before(async () => {
  sockets = await PictureSockets.open();
});
after(() => sockets.close());

const encode = (captureMs: number, bytes: Buffer): Buffer =>
  Buffer.concat([encodePictureHead({ captureMs, attachment: "feed", bytes }), bytes]);

test("pictures arrive whole, however they are cut, from one runner after the other", async () => {
  let arrived: (picture: Picture) => void = () => {};
  const { path } = await sockets.listen((_, picture) => arrived(picture));
  for (const captureMs of [7, 8]) {
    const picture = new Promise<Picture>((resolve) => {
      arrived = resolve;
    });
    const runner = connect(path);
    const bytes = encode(captureMs, Buffer.alloc(100_000, captureMs));
    for (const cut of [3, 20, 50_000])
      runner.write(bytes.subarray(0, cut).subarray(cut === 3 ? 0 : cut === 20 ? 3 : 20));
    runner.write(bytes.subarray(50_000));
    const { captureMs: took, bytes: jpeg } = await picture;
    assert.deepEqual([took, jpeg.length, jpeg[0], jpeg.at(-1)], [captureMs, 100_000, captureMs, captureMs]);
    runner.destroy();
  }
});

test("what is no picture ends the connection, and the next one is heard again", async () => {
  let arrived: (picture: Picture) => void = () => {};
  const picture = new Promise<Picture>((resolve) => {
    arrived = resolve;
  });
  const { path } = await sockets.listen((_, one) => arrived(one));
  const wrong = connect(path);
  wrong.on("error", () => {});
  wrong.write(Buffer.alloc(64, 0xff));
  await once(wrong.resume(), "close");
  const right = connect(path);
  right.write(encode(1, Buffer.from("jpeg")));
  assert.equal(Buffer.from((await picture).bytes).toString(), "jpeg");
  right.destroy();
});

test("nobody else may enter, and nothing stays", async () => {
  const own = await PictureSockets.open();
  const { path } = await own.listen(() => {});
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  assert.ok(path.length < 107, "as long as a Unix socket's name may be");
  await own.close();
  assert.equal(existsSync(dirname(path)), false);
});
