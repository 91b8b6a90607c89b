import assert from "node:assert/strict";
import { test } from "node:test";
import { nameChain } from "./chain-names.ts";

const outputs = [{ uuid: "0198", alias: "Gate: north" }];

for (const [chain, step, title, name] of [
  ["main", "detect", "main", "detect"],
  ["rtsp:0198", "rtsp:0198/encode", "rtsp output Gate: north", "encode"],
  ["rtsp:0199", "rtsp:0199/encode", "rtsp", "encode"],
  ["view:view", "view:view/jpegenc", "view", "jpegenc"],
] as const)
  test(`names the chain ${chain} ${title}`, () => {
    const found = nameChain(chain, outputs);
    assert.deepEqual([found.title, found.nameStep(step)], [title, name]);
  });
