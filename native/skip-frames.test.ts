import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { build, ending, NO_HANG, type Properties, pictures, type Steps, sink } from "./pipeline.fixture.ts";
import type { Pipeline } from "./pipeline.ts";

const GOP = 12;
const GOPS = 6;
const FRAMES = GOP * GOPS;
const CAPS = "video/x-raw,format=I420,width=64,height=48,framerate=25/1";

type Encoding = "h264" | "h264, open" | "h265" | "h265, open" | "jpeg";

/**
 * Two frames in three are not reference frames. Without rate control: with it, x264 in a process that has encoded before
 * does not always encode the same pictures to the same stream.
 */
const B_FRAMES = "bframes=2:b-adapt=0:b-pyramid=0:scenecut=0";
const x264 = (open: number): Steps => ({
  encoder: [
    "x264enc",
    {
      ...{ "key-int-max": GOP, "speed-preset": "veryfast", pass: "quant", quantizer: 25 },
      "option-string": `${B_FRAMES}:open-gop=${open}`,
    },
  ],
  parser: ["h264parse"],
});
const x265 = (open: number): Steps => ({
  encoder: [
    "x265enc",
    {
      ...{ "key-int-max": GOP, "speed-preset": "ultrafast", qp: 25 },
      "option-string": `${B_FRAMES}:open-gop=${open}:log-level=none`,
    },
  ],
  parser: ["h265parse"],
});

const ENCODED: Readonly<Record<Encoding, Steps>> = {
  h264: { ...x264(0), decoder: ["avdec_h264"] },
  "h264, open": { ...x264(1), decoder: ["avdec_h264"] },
  h265: { ...x265(0), decoder: ["avdec_h265"] },
  "h265, open": { ...x265(1), decoder: ["avdec_h265"] },
  jpeg: { encoder: ["jpegenc"], parser: ["jpegparse"], decoder: ["jpegdec"] },
};

interface Seen {
  readonly ptsNs: bigint;
  /** Digest of the pixels. */
  readonly picture: string;
}

interface Played {
  readonly frames: readonly Seen[];
  /** Property of the element. */
  readonly skipped: number;
}

/** `seen` is called with the number of frames so far, and delays the next one. */
async function decode(
  encoding: Encoding,
  properties: Properties,
  format?: string,
  seen: (count: number, pipeline: Pipeline) => unknown = () => {},
): Promise<Played> {
  const frames: Seen[] = [];
  let pipeline: Pipeline | null = null;
  const out = sink(async (frame) => {
    const picture = createHash("sha256").update(frame.copy()).digest("base64");
    frames.push({ ptsNs: frame.ptsNs ?? -1n, picture });
    if (pipeline !== null) await seen(frames.length, pipeline);
  });
  const { decoder, ...encoder } = ENCODED[encoding];
  pipeline = await build({
    ...pictures(FRAMES, CAPS, { pattern: "ball" }),
    ...encoder,
    ...(format !== undefined && { stream: ["capsfilter", { caps: format }] }),
    skip: ["skipframes", properties],
    ...(decoder && { decoder }),
    out: [out],
  });
  try {
    await pipeline.setState("PLAYING");
    const end = await ending(pipeline);
    assert.equal(end.type, "eos", JSON.stringify(end));
    return { frames, skipped: Number(await pipeline.get("skip", "skipped")) };
  } finally {
    await pipeline.close();
  }
}

const whole = new Map<string, Promise<Played>>();

/** The same stream without skipping. */
function decodeAll(encoding: Encoding): Promise<Played> {
  const found = whole.get(encoding) ?? decode(encoding, {});
  whole.set(encoding, found);
  return found;
}

/** Numbers of the frames in the whole stream. Fails if one of them looks different there. */
async function numbersOf({ frames }: Played, encoding: Encoding): Promise<readonly number[]> {
  const all = (await decodeAll(encoding)).frames;
  assert.equal(all.length, FRAMES);
  return frames.map(({ ptsNs, picture }) => {
    const number = all.findIndex((one) => one.ptsNs === ptsNs);
    assert.equal(picture, all[number]?.picture, `frame ${number}`);
    return number;
  });
}

const isKeyframe = (number: number): boolean => number % GOP === 0;

for (const [encoding, format] of [
  ["h264", "video/x-h264,stream-format=avc,alignment=au"],
  ["h264", "video/x-h264,stream-format=byte-stream,alignment=au"],
  ["h265", "video/x-h265,stream-format=hvc1,alignment=au"],
  ["h265", "video/x-h265,stream-format=byte-stream,alignment=au"],
] as const) {
  test(`reference: two of three frames are not decoded, the others are not changed (${format})`, NO_HANG, async () => {
    const played = await decode(encoding, { keep: "reference" }, format);
    const numbers = await numbersOf(played, encoding);
    assert.equal(played.skipped, FRAMES - numbers.length);
    assert.ok(numbers.length >= FRAMES / 3 && numbers.length <= FRAMES / 2, `${numbers}`);
    assert.ok(numbers.filter(isKeyframe).length === GOPS, `${numbers}`);
  });

  test(`keyframes: only those, once their distance is known (${format})`, NO_HANG, async () => {
    const numbers = await numbersOf(await decode(encoding, { keep: "keyframes" }, format), encoding);
    assert.deepEqual(
      numbers.filter((number) => number > 2 * GOP),
      Array.from({ length: GOPS - 3 }, (_, gop) => (gop + 3) * GOP),
    );
  });
}

for (const encoding of ["h264", "h265", "h265, open"] as const)
  test(`all frames are decoded again from the next keyframe on, without damage (${encoding})`, NO_HANG, async () => {
    let paused = -1;
    const played = await decode(encoding, { keep: "keyframes" }, undefined, async (count, pipeline) => {
      if (paused >= 0 || Number(await pipeline.get("skip", "skipped")) === 0) return;
      paused = count;
      await pipeline.set("skip", { pause: true });
    });
    assert.ok(paused > 0);
    const numbers = await numbersOf(played, encoding);
    assert.deepEqual(
      numbers.slice(-GOP / 2),
      Array.from({ length: GOP / 2 }, (_, index) => FRAMES - GOP / 2 + index),
    );
    assert.ok(played.skipped > 0 && numbers.length < FRAMES);
  });

test("an open GOP of H.264 is decoded from its reference frames: nothing else can be left out", NO_HANG, async () => {
  const keyframes = await numbersOf(await decode("h264, open", { keep: "keyframes" }), "h264, open");
  const reference = await numbersOf(await decode("h264, open", { keep: "reference" }), "h264, open");
  assert.deepEqual(keyframes, reference);
});

const findGaps = (numbers: readonly number[]): readonly number[] =>
  numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0));

test("auto: one of N frames is decoded at least", NO_HANG, async () => {
  for (const [every, mean] of [
    [1, 1],
    [2, 1.5],
    [3, 2.5],
  ] as const) {
    const numbers = await numbersOf(await decode("h264", { keep: "auto", every }), "h264");
    assert.equal(Math.round((2 * FRAMES) / numbers.length) / 2, mean, `${numbers}`);
    assert.ok(Math.max(...findGaps(numbers)) <= every + 1, `${numbers}`);
  }
});

test("auto: only keyframes where these are close enough", NO_HANG, async () => {
  const numbers = await numbersOf(await decode("h264", { keep: "auto", every: GOP }), "h264");
  assert.ok(numbers.filter((number) => number > 2 * GOP).every(isKeyframe), `${numbers}`);
  const short = await numbersOf(await decode("h264", { keep: "auto", every: GOP - 1 }), "h264");
  assert.ok(!short.every(isKeyframe) && Math.max(...findGaps(short)) <= 3, `${short}`);
});

test("auto: a rate instead of a number", NO_HANG, async () => {
  const byRate = await decode("h264", { keep: "auto", rate: 12 });
  const byNumber = await decode("h264", { keep: "auto", every: 2 });
  assert.deepEqual(byRate, byNumber);
});

test("all frames of another codec pass", NO_HANG, async () => {
  const { frames, skipped } = await decode("jpeg", { keep: "keyframes" });
  assert.deepEqual([frames.length, skipped], [FRAMES, 0]);
});
