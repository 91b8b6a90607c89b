import assert from "node:assert/strict";
import { test } from "node:test";
import { suggest } from "./suggest.ts";

const NAMES = ["decode", "goom", "max-size-buffers", "print", "queue", "tee", "videoscale"];

for (const [name, nearest] of [
  ["decod", "decode"],
  ["edcode", "decode"],
  ["edcoed", "decode"],
  ["ecode", "decode"],
  ["pritn", "print"],
  ["ueue", "queue"],
  ["sprint", "print"],
  ["te", "tee"],
  ["max_size_bufers", "max-size-buffers"],
  ["maxSizeBuffers", "max-size-buffers"],
  ["vidoescael", "videoscale"],
] as const) {
  test(`suggests ${nearest} for ${name}`, () => assert.equal(suggest(name, NAMES), nearest));
}

for (const name of ["foo0", "gum", "mint", "xecodex", "bee-tee", "tee"]) {
  test(`suggests nothing for ${name}`, () => assert.equal(suggest(name, NAMES), undefined));
}
