import assert from "node:assert/strict";
import test from "node:test";
import type { Candidates } from "../../models/decode/decoder.ts";
import { hasSameObjects } from "./same-objects.ts";

const WANTED = { confidence: 0.4, classIds: new Set([0, 2]) };

const list = (...objects: readonly (readonly [left: number, score: number, classId?: number])[]): Candidates => ({
  count: objects.length,
  boxes: Float32Array.from(objects.flatMap(([left]) => [left, 0, left + 10, 10])),
  scores: Float32Array.from(objects.map(([, score]) => score)),
  classIds: Int32Array.from(objects.map(([, , classId = 0]) => classId)),
});

for (const [what, before, now, isSame] of [
  ["nothing twice", list(), list(), true],
  ["an object that has moved a little", list([0, 0.9]), list([4, 0.5]), true],
  ["an object that has moved far", list([0, 0.9]), list([7, 0.9]), false],
  ["an object that changed its class", list([0, 0.9]), list([0, 0.9, 2]), true],
  ["an object that appears", list([0, 0.9]), list([0, 0.9], [50, 0.4]), false],
  ["an object that disappears", list([0, 0.9], [50, 0.4]), list([0, 0.9]), false],
  ["an object that becomes less confident", list([0, 0.9], [50, 0.5]), list([0, 0.9], [50, 0.3]), true],
  ["an object that becomes hardly visible", list([0, 0.9], [50, 0.5]), list([0, 0.9], [50, 0.15]), false],
  ["a less confident object that is sure again", list([0, 0.9], [50, 0.3]), list([0, 0.9], [50, 0.5]), false],
  ["a weak object that appears", list([0, 0.9]), list([0, 0.9], [50, 0.39]), true],
  ["another class that appears", list([0, 0.9]), list([0, 0.9], [50, 0.9, 1]), true],
] as const)
  test(`${what}: ${isSame ? "the same objects" : "other objects"}`, () => {
    assert.equal(hasSameObjects(before, now, WANTED), isSame);
  });
