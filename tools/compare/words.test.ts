import assert from "node:assert/strict";
import { test } from "node:test";
import { listShortfalls, readFloors } from "./floors.ts";
import { readClipWords, readPairWords } from "./words.ts";

const CLIP = "test:ball?frames=5";

test("parameters are for both graphs, or for the one that is named", () => {
  const words = ["detect", "./b.yaml", CLIP, "classes=car", "a.model=quality", "b.every=2", "b.classes=person,car"];
  assert.deepEqual(readPairWords(words), [
    { graph: "detect", source: CLIP, params: { classes: "car", model: "quality" } },
    { graph: "./b.yaml", source: CLIP, params: { every: "2", classes: "person,car" } },
  ]);
});

for (const [words, message] of [
  [["detect", CLIP], /missing: two graphs and a clip, A B CLIP/],
  [["a", "b", CLIP, "c"], /unexpected argument "c"; expected A B CLIP/],
  [["a", "b", "rtsp://camera/x"], /CLIP is "rtsp:\/\/camera\/x"; expected a file/],
  [["a", "b", "none.mp4"], /there is no file none\.mp4/],
  [["a", "b", CLIP, "a.x=1", "a.x=2"], /the parameter x is given twice/],
] as const)
  test(`rejects ${words.join(" ")}`, () => assert.throws(() => readPairWords(words), message));

test("a clip is required", () => assert.throws(() => readClipWords(["detect"]), /missing: GRAPH and CLIP/));

const read = (text: string) => readFloors("floor", text, ["fps", "agreement"], ["fps"]);

test("floors are numbers, and measures below them are listed", () => {
  const floors = read("fps=5, agreement=0.95");
  assert.deepEqual(listShortfalls(floors, { fps: 5, agreement: 0.95 }), []);
  assert.deepEqual(listShortfalls(floors, { fps: 4.5, agreement: null }), [
    "fps is 4.5, below 5",
    "agreement is not known, below 0.95",
  ]);
});

for (const [text, message] of [
  ["fsp=5", /--floor has "fsp"; expected name=number of fps, agreement; did you mean "fps"/],
  ["agreement=95", /--floor has agreement="95"; expected a number above 0 and up to 1/],
  ["fps", /--floor has fps=""; expected a number above 0/],
  ["fps=5,fps=6", /--floor has fps twice/],
] as const)
  test(`rejects the floor ${text}`, () => assert.throws(() => read(text), message));
