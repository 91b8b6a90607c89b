import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { gate, NO_HANG, pictures, play, type Steps, sink, transform } from "./pipeline.fixture.ts";

const caps = (width: number, height: number) =>
  `video/x-raw,format=I420,width=${width},height=${height},framerate=30/1`;
const scaled: Steps = {
  scale: ["videoscale"],
  small: ["capsfilter", { caps: "video/x-raw,width=32,height=24" }],
};

/** `frame → input` of each frame. */
const note = (seen: string[]) =>
  sink(({ format, inputSize }) => {
    seen.push(`${format.width}x${format.height} of ${inputSize.width}x${inputSize.height}`);
  });

test("the input size of a frame that was not resized is its own", NO_HANG, async () => {
  const seen: string[] = [];
  await play({ ...pictures(1, caps(64, 48)), look: [note(seen)] });
  assert.deepEqual(seen, ["64x48 of 64x48"]);
});

test("frames keep the input size behind scalers, queues and other elements", NO_HANG, async () => {
  const seen: string[] = [];
  await play({
    ...pictures(3, caps(64, 48)),
    queue: ["queue"],
    ...scaled,
    pass: [transform(() => {}, { inFlight: 4 })],
    again: ["videoscale"],
    large: ["capsfilter", { caps: "video/x-raw,width=128,height=96" }],
    look: [note(seen)],
  });
  assert.deepEqual(seen, Array(3).fill("128x96 of 64x48"));
});

test("the input size of a file is that of the decoded video", NO_HANG, async () => {
  const folder = await mkdtemp(join(tmpdir(), "windhover-size-"));
  try {
    const location = join(folder, "picture.jpg");
    const take = sink(async (frame) => writeFile(location, await frame.image("image/jpeg")));
    await play({ ...pictures(1, caps(64, 48)), take: [take] });
    for (const decoder of ["jpegdec", "decodebin"]) {
      const seen: string[] = [];
      await play({
        file: ["filesrc", { location }],
        decoder: [decoder],
        convert: ["videoconvert"],
        ...scaled,
        look: [note(seen)],
      });
      assert.deepEqual(seen, ["32x24 of 64x48"], decoder);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a new input size applies to the frames after it, even if their own size stays", NO_HANG, async () => {
  const seen: string[] = [];
  const reached = gate();
  const changed = gate();
  const hold = transform(async (frame) => {
    if (frame.index !== 5) return;
    reached.open();
    await changed.opened;
  });
  await play(
    { ...pictures(20, caps(64, 48)), hold: [hold], queue: ["queue"], ...scaled, look: [note(seen)] },
    async (pipeline) => {
      await pipeline.setState("PLAYING");
      await reached.opened;
      await pipeline.set("format", { caps: caps(96, 48) });
      changed.open();
    },
  );
  const before = seen.indexOf("32x24 of 96x48");
  assert.ok(before >= 6 && before < 20, seen.join(", "));
  assert.deepEqual(seen, [...Array(before).fill("32x24 of 64x48"), ...Array(20 - before).fill("32x24 of 96x48")]);
});
