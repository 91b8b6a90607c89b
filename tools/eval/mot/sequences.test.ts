import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "../../../cli/windhover.fixture.ts";
import { makeSequence } from "./mot.fixture.ts";
import { listSequences, readResults, readRows, readTruth } from "./sequences.ts";

const folder = makeFolder();
const file = join(folder, "rows.txt");
const write = (text: string): string => {
  writeFileSync(file, text);
  return file;
};

test("rows are read with spaces, Windows line ends and empty lines", () => {
  const rows = readRows(write("1, 2, 3.5,4,5,6,0.9,-1,-1,-1\r\n\r\n2,2,-3,4,5,6,1\n\n"), 2);
  assert.deepEqual(rows, [
    { line: 1, frame: 1, id: 2, box: [3.5, 4, 5, 6], confidence: 0.9 },
    { line: 3, frame: 2, id: 2, box: [-3, 4, 5, 6], confidence: 1 },
  ]);
});

const BAD: readonly (readonly [row: string, fault: RegExp])[] = [
  ["1,2,3,4,5,6", /6 columns; expected at least 7: frame,id,left/],
  ["1,2,x,4,5,6,1", /left is "x"; expected a number/],
  ["1,2,NaN,4,5,6,1", /left is "NaN"; expected a number/],
  ["1,2,3,inf,5,6,1", /top is "inf"; expected a number/],
  ["1,2,3,4,,6,1", /width is ""; expected a number/],
  ["0,2,3,4,5,6,1", /frame is 0; expected a whole number from 1/],
  ["1.5,2,3,4,5,6,1", /frame is 1\.5; expected a whole number from 1/],
  ["11,2,3,4,5,6,1", /frame is 11; expected at most 10, the length of the sequence/],
  ["1,2.5,3,4,5,6,1", /id is 2\.5; expected a whole number/],
  ["1,2,3,4,-5,6,1", /the box is -5×6; expected width and height of 0 or more/],
  ["not a row at all", /1 columns; expected at least 7/],
];

for (const [row, fault] of BAD)
  test(`"${row}" is refused by file and line`, () => {
    assert.throws(
      () => readRows(write(`1,1,1,1,1,1,1\n${row}\n`), 10),
      (error: Error) => {
        assert.equal(error.name, "CommandFailure");
        assert.ok(error.message.startsWith(`${file}:2: `), error.message);
        assert.match(error.message, fault);
        return true;
      },
    );
  });

test("reports many bad rows at once, with their count", () => {
  assert.throws(() => readRows(write("x\n".repeat(8)), 1), /rows\.txt:5: .*\n… and 3 more lines of this file$/s);
});

test("reports an id twice in a frame with both lines", () => {
  const path = write("1,7,1,1,5,5,1\n2,7,1,1,5,5,1\n1,7,9,9,5,5,1\n");
  assert.throws(() => readResults(path, 2), /rows\.txt:3: id 7 occurs twice in frame 1, first in line 1/);
});

test("ground truth marked with 0 is not scored, not even where its id comes twice", () => {
  const frames = readTruth(write("1,7,1,1,5,5,1\n1,7,9,9,5,5,0\n2,8,1,1,5,5,0\n"), 2);
  assert.deepEqual(
    frames.map(({ ids }) => ids),
    [[7], []],
  );
});

for (const [text, fault] of [
  ["", /rows\.txt has nothing to score: it has no rows/],
  ["1,7,1,1,5,5,0\n2,7,1,1,5,5,0\n", /rows\.txt has nothing to score: all its 2 rows have confidence 0/],
] as const)
  test(`ground truth with nothing to score is refused: ${JSON.stringify(text)}`, () => {
    assert.throws(() => readTruth(write(text), 2), fault);
  });

test("frames without rows share what they have: a long sequence of them needs no memory", () => {
  const frames = readTruth(write("3,7,1,1,5,5,1\n"), 5);
  assert.deepEqual(
    frames.map(({ ids }) => ids.length),
    [0, 0, 1, 0, 0],
  );
  assert.equal(new Set(frames).size, 2);
});

const INFOS: readonly (readonly [info: string, fault: RegExp])[] = [
  ["[Sequence]\nframeRate=10\n", /seqinfo\.ini has no seqLength; expected seqLength=, a whole number of frames/],
  ["[Sequence]\nseqLength=4\n", /seqinfo\.ini has no frameRate/],
  ["seqLength=4\nframeRate=0\n", /seqinfo\.ini:2: frameRate is "0"; expected a number of frames per second above 0/],
  ["frameRate=25\n\nseqLength=four\n", /seqinfo\.ini:3: seqLength is "four"/],
  ["frameRate=25\nseqLength=1000001\n", /seqLength is "1000001"; expected a whole number of frames, up to 1000000/],
];

for (const [index, [info, fault]] of INFOS.entries())
  test(`rejects a bad seqinfo.ini: ${JSON.stringify(info)}`, () => {
    const directory = join(folder, `info-${index}`);
    makeSequence(directory, "one", { info });
    assert.throws(() => listSequences(directory), fault);
  });

test("ground truth is found where MOT Challenge unpacks it", () => {
  const directory = join(folder, "unpacked");
  makeSequence(directory, "one");
  mkdirSync(join(directory, "two", "gt"), { recursive: true });
  writeFileSync(join(directory, "two", "seqinfo.ini"), "seqLength=1\nframeRate=12.5\n");
  writeFileSync(join(directory, "two", "gt", "gt.txt"), "");
  assert.deepEqual(
    listSequences(directory).map(({ name, truthFile, frameRate }) => [name, truthFile, frameRate]),
    [
      ["one", join(directory, "one", "gt.txt"), 10],
      ["two", join(directory, "two", "gt", "gt.txt"), 12.5],
    ],
  );
});
