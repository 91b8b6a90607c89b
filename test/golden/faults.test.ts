/**
 * What the comparison across machines accepts and what it reports, on real recordings: `machines/` holds the tracks of the
 * first 100 frames of vtest.avi (`frame,id,left,top,width,height,confidence`), recorded with version 0.1.0 on an arm64
 * processor; on an x86-64 one; on that with VNNI hidden, with weights narrowed for it; and with VNNI hidden and the
 * weights as they were, whose int8 sums then saturate, which is a fault. The limits were chosen with these recordings
 * at hand: that they pass shows that the comparison has not changed, not that any other machine would.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { compareFrames } from "../../cli/golden/compare-frames.ts";
import { readFrame, type SeenBox, type SeenFrame, type SeenObject } from "../../cli/golden/frames.ts";
import { parseGolden } from "../../cli/golden/golden.ts";
import { describe as inWords } from "../../cli/golden/report.ts";
import { LEVELS } from "../../cli/golden/tolerance.ts";
import { readRows } from "../../tools/eval/mot/sequences.ts";

const FRAMES = 100;
const [WIDTH, HEIGHT] = [768, 576];
const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const scaled = ([x, y, width, height]: SeenBox): SeenBox => [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT];

function readMachine(name: string): readonly SeenFrame[] {
  const rows = readRows(fileOf(`machines/${name}.csv`), FRAMES);
  return Array.from({ length: FRAMES }, (_, index) => ({
    timeMs: index * 100,
    others: {},
    objects: rows
      .filter(({ frame }) => frame === index + 1)
      .map(({ line: _, frame: __, ...row }) => ({ ...PERSON, ...row, scaledBox: scaled(row.box) })),
  }));
}
const PERSON = { classId: 0, className: "person", others: {} };

const MACHINES = ["arm64", "x64", "x64-narrow-weights"].map((name) => ({ name, frames: readMachine(name) }));
const ARM64 = readMachine("arm64");
const STREET = parseGolden(readFileSync(fileOf("street.golden.ndjson"), "utf8"), "street").said.map(
  (said) => readFrame(said) as SeenFrame,
);

const compare = (golden: readonly SeenFrame[], now: readonly SeenFrame[]) =>
  compareFrames(golden, now, LEVELS.other, [0.4]).differences.map(inWords);

for (const golden of MACHINES)
  for (const now of MACHINES)
    test(`a golden of ${golden.name} holds on ${now.name}`, () =>
      assert.deepEqual(compare(golden.frames, now.frames), []));

test("int8 sums that saturate are reported against a golden of any machine", () => {
  for (const { name, frames } of MACHINES) {
    const found = compare(frames, readMachine("x64-saturating"));
    assert.ok(found.length > 30, `${name}: ${found.length}`);
    assert.match(found.join("\n"), /on average: confidence -2\.\d points/);
  }
});

type Fault = (frames: readonly SeenFrame[]) => readonly SeenFrame[];

const each =
  (change: (object: SeenObject, frame: number) => Partial<SeenObject>): Fault =>
  (frames) =>
    frames.map((frame, index) => ({
      ...frame,
      objects: frame.objects.map((object) => ({ ...object, ...change(object, index + 1) })),
    }));
const leaveOut =
  (isLeftOut: (object: SeenObject, frame: number) => boolean): Fault =>
  (frames) =>
    frames.map((frame, index) => ({ ...frame, objects: frame.objects.filter((one) => !isLeftOut(one, index + 1)) }));
const put = (change: (box: SeenBox) => SeenBox): Fault =>
  each(({ box }) => ({ box: change(box), scaledBox: scaled(change(box)) }));

const FROM = 31;

/** `a` and `b` are tracks that are confidently seen around frame `FROM`. */
const listFaults = (a: number, b: number): readonly (readonly [what: string, fault: Fault, found: RegExp])[] => [
  ["a letterbox that is off by 4 px of 320", put(([x, ...rest]) => [x + (4 * WIDTH) / 320, ...rest]), /IoU|left edge/],
  [
    "boxes that are off by 3 % of their width",
    put(([x, y, w, h]) => [x + 0.03 * w, y, w, h]),
    /left edge \+[23]\.\d %/,
  ],
  ["boxes that are 4 % too wide", put(([x, y, w, h]) => [x - 0.02 * w, y, 1.04 * w, h]), /right edge \+[12]\.\d %/],
  [
    "boxes of the frame before",
    (frames) => frames.map((frame, index) => ({ ...frame, objects: frames[Math.max(0, index - 1)]?.objects ?? [] })),
    /IoU|confidence is/,
  ],
  ["a model that is 3 points less confident", each(({ confidence }) => ({ confidence: confidence - 3 })), /points/],
  ["a class that is missed", leaveOut(({ className }) => /clock|person/.test(className)), /(clock|person) is missing/],
  ["a class with another name", each(() => ({ className: "dog" })), /is a dog, was a/],
  [
    "a confident object that is missing for 8 frames",
    leaveOut(({ id }, frame) => id === a && frame >= FROM && frame < FROM + 8),
    /track 4 .* is missing/,
  ],
  ["every tenth object missing", leaveOut(({ id }, frame) => (frame + id) % 10 === 0), /is missing/],
  [
    "duplicates that are not suppressed",
    (frames) =>
      frames.map((frame) => ({
        ...frame,
        objects: frame.objects.flatMap((one) => [one, { ...one, id: one.id + 50, confidence: one.confidence - 2 }]),
      })),
    /is new/,
  ],
  [
    "a track that gets another id",
    each(({ id }, frame) => (id === a && frame >= FROM ? { id: 9 } : {})),
    /has the id 9/,
  ],
  [
    "two tracks that swap ids",
    each(({ id }, frame) => (frame < FROM ? {} : id === a ? { id: b } : id === b ? { id: a } : {})),
    /has the id [345], expected [345]/,
  ],
  ["a new id in every frame", each(({ id }, frame) => ({ id: frame * 10 + id })), /has the id/],
  ["ids that skip numbers", each(({ id }) => ({ id: id * 3 })), /the highest id is/],
  ["tracking that is gone", each(() => ({ id: 0 })), /is no longer tracked/],
  [
    "a frame without a message",
    (frames) => frames.filter((_, index) => index !== 30),
    /message of this frame is missing/,
  ],
];
interface Clip {
  readonly clip: string;
  readonly golden: readonly SeenFrame[];
  readonly now: readonly SeenFrame[];
  readonly tracks: readonly [number, number];
}
const clips: readonly Clip[] = [
  { clip: "the street against its golden", golden: STREET, now: STREET, tracks: [4, 3] },
  ...MACHINES.map(
    ({ name, frames }): Clip => ({
      clip: `people on ${name} against a golden of arm64`,
      golden: ARM64,
      now: frames,
      tracks: [4, 5],
    }),
  ),
];
for (const { clip, golden, now, tracks } of clips)
  describe(clip, () => {
    for (const [what, fault, expected] of listFaults(...tracks))
      test(`reports ${what}`, () => {
        const found = compare(golden, fault(now));
        assert.ok(
          found.some((line) => expected.test(line)),
          found.slice(0, 5).join("\n") || "nothing was reported",
        );
      });
  });
