import assert from "node:assert/strict";
import test from "node:test";
import type { Candidates } from "../../models/decode/decoder.ts";
import { countChanged } from "../../vision/picture-change.ts";
import type { Plane } from "../element.ts";
import { MotionGate } from "./motion-gate.ts";
import { WHOLE } from "./request.ts";

const [WIDTH, HEIGHT] = [160, 90];
const PROPERTIES = { refreshSeconds: 3, maxPerSecond: 10 };
const FILTER = { confidence: 0.4, weak: 0.1, overlap: 0.5, minimum: 0.1, classIds: null };
const FRAME_MS = 40;

/** A bright square on grey, whose left edge is here. */
function paint(left: number, width = WIDTH, height = HEIGHT): Plane {
  const data = new Uint8Array(width * height).fill(90);
  for (let y = 40; y < 50; y++) data.fill(200, y * width + left, y * width + left + 10);
  return { data, stride: width, width, height };
}

const found = (count: number): Candidates => ({
  count,
  boxes: Float32Array.from({ length: 4 * count }, (_, at) => 100 * (at >> 2) + (at % 4 < 2 ? 0 : 10)),
  scores: new Float32Array(count).fill(0.9),
  classIds: new Int32Array(count),
});

interface Shot {
  readonly ms: number;
  readonly plane?: Plane;
  readonly discontinuity?: boolean;
  /** Objects that inference finds in it. */
  readonly objects?: number;
}

/** `I` for inference, `s` for still, `-` for passed, per frame. */
function play(gate: MotionGate, shots: readonly Shot[], within = WHOLE): string {
  return shots
    .map(({ ms, plane = paint(0), discontinuity = false, objects = 0 }) => {
      const verdict = gate.judge({ captureNs: BigInt(ms) * 1_000_000n, discontinuity, planes: [plane] }, within);
      if (typeof verdict === "string") return verdict === "still" ? "s" : "-";
      gate.refer(verdict);
      gate.note(found(objects), FILTER);
      return "I";
    })
    .join("");
}

const shoot = (frames: number, describe: (frame: number) => Omit<Shot, "ms">): readonly Shot[] =>
  Array.from({ length: frames }, (_, frame) => ({ ms: frame * FRAME_MS, ...describe(frame) }));

test("a still scene is inferred once, and again after the refresh time", () => {
  const verdicts = play(
    new MotionGate(PROPERTIES),
    shoot(151, () => ({})),
  );
  assert.equal(verdicts, `I${"s".repeat(74)}I${"s".repeat(74)}I`);
});

test("a moving object is inferred at the highest rate, the frames between pass", () => {
  assert.equal(
    play(
      new MotionGate(PROPERTIES),
      shoot(10, (frame) => ({ plane: paint(4 * frame) })),
    ),
    "I--I--I--I",
  );
});

test("every frame is inferred if the rate allows it", () => {
  const gate = new MotionGate({ ...PROPERTIES, maxPerSecond: 25 });
  assert.equal(
    play(
      gate,
      shoot(5, (frame) => ({ plane: paint(4 * frame) })),
    ),
    "IIIII",
  );
});

test("a movement that begins is inferred at once, and none when it has ended", () => {
  const shots = shoot(16, (frame) => ({ plane: paint(4 * Math.min(Math.max(0, frame - 5), 3)) }));
  assert.equal(play(new MotionGate(PROPERTIES), shots), "IsssssI--Isssss".padEnd(16, "s"));
});

test("a movement outside of the region of interest does not count", () => {
  const shots = shoot(10, (frame) => ({ plane: paint(4 * frame) }));
  assert.equal(play(new MotionGate(PROPERTIES), shots, { x: 0, y: 0.6, width: 1, height: 0.4 }), "I".padEnd(10, "s"));
});

test("objects that appear or disappear are inferred once more at once", () => {
  const shots = shoot(13, (frame) => ({ plane: paint(4 * frame), objects: frame >= 3 && frame < 9 ? 2 : 1 }));
  // Frame 3 has one object more, frame 10 one less.
  assert.equal(play(new MotionGate(PROPERTIES), shots), "I--II--I--II-");
});

test("a follow-up is not followed up", () => {
  const shots = shoot(10, (frame) => ({ plane: paint(4 * frame), objects: frame % 2 }));
  assert.doesNotMatch(play(new MotionGate(PROPERTIES), shots), /III/);
});

for (const [what, shots] of [
  ["a gap", [{ ms: 0 }, { ms: 40, discontinuity: true }]],
  ["a step back in time", [{ ms: 4000 }, { ms: 40 }]],
  ["another size", [{ ms: 0 }, { ms: 40, plane: paint(0, 80, 90) }]],
] as const)
  test(`inference runs after ${what}`, () => {
    assert.equal(play(new MotionGate(PROPERTIES), shots), "II");
  });

test("a frame whose inference never started is no reference: the next one is due as well", () => {
  const gate = new MotionGate(PROPERTIES);
  const judge = (ms: number) =>
    gate.judge({ captureNs: BigInt(ms) * 1_000_000n, discontinuity: false, planes: [paint(0)] }, WHOLE);
  assert.equal(typeof judge(0), "object");
  assert.equal(typeof judge(40), "object");
});

/** As for moving tiles: which halves are inferred in each frame, `a` for all of it. */
function playHalves(gate: MotionGate, shots: readonly Shot[]): string {
  const halves = [0, 0.5].map((x) => ({ x, y: 0, width: 0.5, height: 1 }));
  return shots
    .map(({ ms, plane = paint(0) }) => {
      const frame = { captureNs: BigInt(ms) * 1_000_000n, discontinuity: false, planes: [plane] };
      const verdict = gate.judge(frame, WHOLE);
      if (typeof verdict === "string") return "-";
      const { change } = verdict;
      const chosen = halves.filter((half) => change === null || countChanged(change, half) > 0);
      gate.refer(verdict, chosen);
      gate.note(found(0), FILTER);
      return change === null ? "a" : chosen.map((half) => (half.x === 0 ? "l" : "r")).join("");
    })
    .join("");
}

/** The square on a background that has all shades. */
function paintOnShades(left: number): Plane {
  const { data, ...plane } = paint(left);
  const shades = data.map((value, at) => (value === 200 ? 250 : 20 + ((7 * at) % 160)));
  return { ...plane, data: shades };
}

test("the frame of an inference is the reference only of the regions that it covered", () => {
  const gate = new MotionGate({ refreshSeconds: 100, maxPerSecond: 1000 });
  const lefts = [0, 100, 100, 0, 0, 90, 110, 130, 90];
  const shots = lefts.map((left, at) => ({ ms: 40 * at, plane: paintOnShades(left) }));
  // It leaves one half and appears in the other, returns, and leaves again to move there.
  assert.equal(playHalves(gate, shots), "alr-lr-lrrrr");
});

test("all regions are inferred again after the refresh time, also while one of them moves all the time", () => {
  const gate = new MotionGate({ refreshSeconds: 0.4, maxPerSecond: 1000 });
  const shots = Array.from({ length: 12 }, (_, at) => ({ ms: 40 * at, plane: paint(at % 2 === 0 ? 90 : 120) }));
  assert.equal(playHalves(gate, shots), "arrrrrrrrrar");
});
