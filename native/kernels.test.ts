import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { LooseShape, NativeFrame } from "./frame.ts";
import { kernelSets, useKernelSet } from "./kernels.ts";
import { NO_HANG, pictures, play, sink, transform } from "./pipeline.fixture.ts";

const OBJECTS = fileURLToPath(new URL("../build/obj", import.meta.url));
const [REFERENCE = "", ...OTHERS] = kernelSets();
const FORMATS = ["I420", "NV12"] as const;
const SIZES = [
  [2, 2],
  [5, 3],
  [17, 9],
  [45, 27],
  [64, 48],
  [131, 70],
  [646, 94],
] as const;
const ORDERS_A_FRAME = 60;
const SHAPES_A_FRAME = 40;

after(() => useKernelSet(OTHERS.at(-1) ?? REFERENCE));

/** Reproducible random numbers. */
function draws(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return {
    next,
    between: (low: number, high: number) => low + next() * (high - low),
    whole: (low: number, high: number) => Math.floor(low + next() * (high - low + 1)),
    one: <T>(list: readonly T[]) => list[Math.floor(next() * list.length)] as T,
  };
}

const caps = (pixels: string, [width, height]: readonly [number, number]) =>
  `video/x-raw,format=${pixels},width=${width},height=${height},framerate=30/1`;
/** Fine colour detail, the same in every frame. */
const DETAIL = { pattern: "smpte100" };
const scramble = transform(
  (frame) => {
    const { next } = draws(7);
    for (const { data } of frame.planes) for (let at = 0; at < data.length; at++) data[at] = next() * 256;
  },
  { access: "write" },
);

function drawOrder(seed: number) {
  const { next, between, whole, one } = draws(seed);
  const region = { x: between(0, 0.9), y: between(0, 0.9), width: between(0.02, 1), height: between(0.02, 1) };
  return {
    width: whole(1, one([8, 40, 200])),
    height: whole(1, one([8, 40, 100])),
    fit: one(["letterbox", "stretch"] as const),
    anchor: one(["centre", "top-left"] as const),
    layout: one(["nchw", "nhwc"] as const),
    colours: one(["rgb", "bgr"] as const),
    mean: [between(0, 255), 127.5, 0],
    std: [between(1, 255), 58.395, 1],
    ...(next() < 0.6 && { region }),
  };
}

/** The frame as bytes and as floats, for every order. */
async function fillAll(frame: NativeFrame): Promise<readonly Uint8Array[]> {
  const filled: Uint8Array[] = [];
  for (let seed = 1; seed <= ORDERS_A_FRAME; seed++) {
    const order = drawOrder(seed);
    const count = 3 * order.width * order.height;
    const bytes = new Uint8Array(count);
    const floats = new Float32Array(count);
    await frame.tensor(bytes, order);
    await frame.tensor(floats, order);
    filled.push(bytes, new Uint8Array(floats.buffer));
  }
  return filled;
}

for (const pixels of FORMATS)
  for (const size of SIZES)
    test(`all kernel sets make the same tensors of ${pixels} at ${size.join(" x ")}`, NO_HANG, async () => {
      assert.ok(OTHERS.length > 0);
      const look = sink(async (frame) => {
        useKernelSet(REFERENCE);
        const expected = await fillAll(frame);
        for (const name of OTHERS) {
          useKernelSet(name);
          for (const [index, filled] of (await fillAll(frame)).entries())
            assert.deepEqual(filled, expected[index], `${name}: ${JSON.stringify(drawOrder(1 + (index >> 1)))}`);
        }
      });
      await play({ ...pictures(1, caps(pixels, size), DETAIL), scramble: [scramble], look: [look] });
    });

function drawShapes([width, height]: readonly [number, number]): readonly LooseShape[] {
  const { next, between, whole, one } = draws(width * height);
  const place = () => ({ x: between(-0.2, 1.1) * width, y: between(-0.2, 1.1) * height });
  return Array.from({ length: SHAPES_A_FRAME }, (): LooseShape => {
    const area = { ...place(), width: between(0, 0.6) * width, height: between(0, 0.6) * height };
    const paint = { colour: whole(0, 0xffffff), opacity: one([1, next(), 0.4]) };
    const points = Array.from({ length: whole(1, 6) }, () => Object.values(place()));
    return one([
      { kind: "box", ...area, ...paint, thickness: whole(1, 20), dash: one([0, 7]) },
      { kind: "fill", ...area, ...paint },
      { kind: "hide", ...area, block: whole(1, 40), smooth: next() < 0.5 },
      { kind: "line", points, ...paint, thickness: between(0.5, 12), start: one([0, 1, next()]) },
      {
        kind: "text",
        ...place(),
        ...paint,
        text: "Ag 87%",
        size: whole(6, 24),
        ...(next() < 0.5 && { background: 1 }),
      },
    ]);
  });
}

for (const pixels of FORMATS)
  for (const size of SIZES)
    test(`all kernel sets draw the same on ${pixels} at ${size.join(" x ")}`, NO_HANG, async () => {
      const sets = [REFERENCE, ...OTHERS];
      const shapes = drawShapes(size);
      const drawn: Uint8Array[] = [];
      let before = new Uint8Array();
      const draw = transform(
        async (frame) => {
          before = Uint8Array.from(frame.copy());
          useKernelSet(sets[frame.index] ?? "");
          // One by one, so that a difference shows its shape.
          for (const shape of shapes) {
            await frame.draw([shape]);
            drawn.push(frame.copy());
          }
        },
        { access: "write" },
      );
      const look = sink(() => undefined);
      await play({
        ...pictures(sets.length, caps(pixels, size), DETAIL),
        scramble: [scramble],
        draw: [draw],
        look: [look],
      });
      assert.equal(drawn.length, sets.length * shapes.length);
      assert.notDeepEqual(drawn[shapes.length - 1], before);
      for (const [index, picture] of drawn.entries()) {
        const shape = index % shapes.length;
        const message = `${sets[Math.floor(index / shapes.length)]}: ${JSON.stringify(shapes[shape])}`;
        assert.deepEqual(picture, drawn[shape], message);
      }
    });

test("rejects a set that this CPU does not have", () => {
  assert.throws(() => useKernelSet("mmx"), /expected one of kernelSets\(\), got "mmx"/);
});

// The linker keeps one of several equal functions: one compiled for AVX2 could then run on any CPU.
test("kernel sets share no function with the rest of the addon", async () => {
  const objects = (await readdir(OBJECTS)).filter((name) => name.startsWith("kernels_"));
  assert.equal(objects.length, process.arch === "x64" ? 3 : 2);
  for (const object of objects) {
    const arguments_ = ["--extern-only", "--defined-only", "--format=posix", `${OBJECTS}/${object}`];
    const { stdout } = await promisify(execFile)("nm", arguments_);
    assert.match(stdout.trim(), /^\w+_kernelsE? [DR] \w+ \w+$/, object);
  }
});
