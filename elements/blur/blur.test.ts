import assert from "node:assert/strict";
import { test } from "node:test";
import { PNG } from "pngjs";
import { compile } from "../../graphs/compiler/compile.ts";
import { formatFault } from "../../graphs/compiler/fault.ts";
import type { Box } from "../../schemas/detections.ts";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import type { FrameMetadata, Shape } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import { type BlurProperties, HiddenBoxes } from "./hidden-boxes.ts";

const BOX: Box = [0.25, 0.25, 0.25, 0.5];
const DEFAULTS: BlurProperties = { regions: [], mode: "pixelate", strength: 0.25, padding: 0, holdMs: 500 };

/** Hides on frames 40 ms apart; gives the left edges in pixels of 100. */
function screen(change: Partial<BlurProperties> = {}) {
  const hidden = new HiddenBoxes({ ...DEFAULTS, ...change });
  let timeMs = 1_700_000_000_000;
  const read = (meta: FrameMetadata): Shape[] => {
    timeMs += 40;
    const format = { caps: "", mediaType: "video/x-raw", pixels: "I420", fps: 25, width: 100, height: 100 };
    return hidden.read({ captureNs: BigInt(timeMs) * 1_000_000n, format, meta });
  };
  const lefts = (meta: FrameMetadata) => read(meta).map((shape) => ("x" in shape ? Math.round(shape.x) : null));
  return { hidden, read, lefts, wait: (ms: number) => (timeMs += ms) };
}

const at = (left: number): Box => [left / 100, 0.2, 0.2, 0.2];

test("hides objects of its classes and fixed regions", () => {
  const meta = { tracks: tracks([track(1, at(10)), track(2, at(40), { className: "car" })]) };
  assert.deepEqual(screen().lefts(meta), [10, 40]);
  assert.deepEqual(screen({ classes: ["car"] }).lefts(meta), [40]);
  assert.deepEqual(screen({ classes: [], regions: [at(70)] }).lefts(meta), [70, 10, 40]);
  assert.deepEqual(screen({ regions: [at(70)] }).lefts(meta), [70]);
});

test("hides the whole frame before the first inference, and again after a seek", () => {
  const { hidden, read, lefts } = screen();
  const nothing = { tracks: tracks([], { inferred: false }) };
  const whole = read(nothing)[0];
  assert.ok(whole?.kind === "hide");
  assert.deepEqual([whole.x, whole.y, whole.width, whole.height], [0, 0, 100, 100]);
  assert.deepEqual(lefts({ tracks: tracks([]) }), []);
  assert.deepEqual(lefts(nothing), []);
  hidden.forget();
  assert.deepEqual(lefts(nothing), [0]);
});

test("follows predicted tracks between inferences", () => {
  const { lefts } = screen();
  assert.deepEqual(lefts({ tracks: tracks([track(1, at(10))]) }), [10]);
  assert.deepEqual(lefts({ tracks: tracks([track(1, at(12), { predicted: true })], { inferred: false }) }), [12]);
});

test("without tracking, hides the last boxes until the next inference, however late", () => {
  const { lefts, wait } = screen();
  assert.deepEqual(lefts({ detections: detections([detection(at(10))]) }), [10]);
  wait(5000);
  assert.deepEqual(lefts({ detections: detections([], { inferred: false }) }), [10]);
  assert.deepEqual(lefts({ detections: detections([detection(at(50))]) }), [50]);
});

test("an object that disappears stays hidden for a while", () => {
  const { lefts, wait } = screen({ holdMs: 200 });
  assert.deepEqual(lefts({ tracks: tracks([track(1, at(10))]) }), [10]);
  assert.deepEqual(lefts({ tracks: tracks([]) }), [10]);
  wait(300);
  assert.deepEqual(lefts({ tracks: tracks([]) }), []);
});

test("pads boxes, and scales blocks with them", () => {
  const [shape] = screen({ padding: 0.1, mode: "blur", strength: 0.5 }).read({ tracks: tracks([track(1, BOX)]) });
  assert.ok(shape?.kind === "hide");
  assert.deepEqual(
    [shape.x, shape.y, shape.width, shape.height, shape.block].map((value) => Math.round(value * 100) / 100),
    [22.5, 20, 30, 60, 15],
  );
  assert.equal(shape.smooth, true);
  const [small] = screen().read({ tracks: tracks([track(1, [0, 0, 0.1, 0.1])]) });
  assert.equal(small?.kind === "hide" && small.block, 8);
});

test("remembers a bounded number of objects", () => {
  const { read } = screen({ holdMs: 60_000 });
  let shapes: readonly Shape[] = [];
  for (let id = 1; id <= 1500; id++) shapes = read({ tracks: tracks([track(id, BOX)]) });
  assert.equal(shapes.length, 1000);
});

const graph = (blur: string, upstream: string) => `
graph: blurred
chains:
  main:
    - source: { uri: "test:smpte100?width=320&height=180&frames=2" }
    - decode
    - ${upstream}
    - blur: ${blur}
    - collect
`;

test("objects need a detector, fixed regions alone do not", () => {
  const look = collector(() => undefined);
  const faultsOf = (blur: string) =>
    compile({ file: "a.yaml", text: graph(blur, "stage") }, inputWith(look)).faults.map(formatFault);
  const missing = /a\.yaml:8:7: "blur" reads "tracks" or "detections", which no element before it writes/;
  assert.match(faultsOf("{ classes: [person] }").join(), missing);
  assert.match(faultsOf("{ classes: [person], regions: [[0, 0, 1, 0.1]] }").join(), missing);
  assert.match(faultsOf("{}").join(), missing);
  assert.deepEqual(faultsOf("{ regions: [[0, 0, 1, 0.1]] }"), []);
});

for (const pixels of ["I420", "NV12"])
  for (const mode of ["pixelate", "blur"])
    test(`in a graph, ${mode} leaves nothing of the box of ${pixels}, and the rest as it was`, async () => {
      const before: Uint8Array[] = [];
      const after: Uint8Array[] = [];
      const images: Promise<Uint8Array>[] = [];
      const mark = marker((frame) => {
        const { data, stride } = frame.planes[0] ?? assert.fail();
        assert.ok(stride >= 320 && data.length > 0);
        before.push(frame.copy());
        return { tracks: tracks([track(1, BOX)]), detections: detections([]) };
      });
      const look = collector(async (frame) => {
        after.push(frame.copy());
        images.push(frame.image("image/png"));
        await images.at(-1);
      });
      const text = graph(
        `{ mode: ${mode}, padding: 0 }`,
        `videoconvert\n    - caps: "video/x-raw,format=${pixels}"\n    - mark`,
      );
      const running = await start(compiledText(text, mark, look), [mark, look]);
      assert.deepEqual(await running.ended, { state: "finished", error: null });
      const [left, top, right, bottom, block] = [80, 44, 160, 136, 20];
      const [one = new Uint8Array(), other = new Uint8Array()] = [before[1], after[1]];
      const luma = (data: Uint8Array, x: number, y: number) => data[y * 320 + x] ?? 0;
      let variation = 0;
      let jumps = 0;
      for (let y = 0; y < 180; y += 1)
        for (let x = 0; x < 320; x += 1) {
          const isInside = x >= left && x < right && y >= top && y < bottom;
          if (!isInside) assert.equal(luma(other, x, y), luma(one, x, y), `${x}, ${y}`);
          else if (x > left && x % block !== 0) {
            variation += Math.abs(luma(other, x, y) - luma(other, x - 1, y));
            jumps = Math.max(jumps, Math.abs(luma(other, x, y) - luma(other, x - 1, y)));
          }
        }
      if (mode === "pixelate") assert.equal(variation, 0, "within blocks");
      assert.ok(jumps <= 15, `a jump of ${jumps}`);
      const png = PNG.sync.read(Buffer.from((await images[1]) ?? assert.fail()));
      assert.deepEqual([png.width, png.height], [320, 180]);
      const colours = new Set<string>();
      for (let y = top; y < bottom; y += 1)
        for (let x = left; x < right; x += 1) {
          const from = (y * 320 + x) * 4;
          colours.add(png.data.subarray(from, from + 3).join());
        }
      if (mode === "pixelate") assert.ok(colours.size <= 5 * 6, `${colours.size} colours`);
    });
