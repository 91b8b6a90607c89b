import assert from "node:assert/strict";
import { test } from "node:test";
import { header } from "./golden.fixture.ts";
import type { GoldenHeader } from "./golden.ts";
import { compareOrigins } from "./recording.ts";

const OTHER_DIGEST = "f".repeat(64);

const cases: readonly (readonly [what: string, is: GoldenHeader, said: readonly RegExp[]])[] = [
  ["the same", header({ windhover: "9.9.9" }), []],
  [
    "a card with other thresholds",
    header({}, { confidence: 0.5, weak: 0.2 }),
    [/^"detect" has the threshold confidence 0\.5, before 0\.4$/, /threshold weak 0\.2, before 0\.1$/],
  ],
  [
    "a conversion that gives another network",
    header({}, { network: OTHER_DIGEST }),
    [/"default" was converted differently/],
  ],
  [
    "a network for another kind of machine",
    header({ machine: "x64" }, { network: OTHER_DIGEST }),
    [/another kind of machine, arm64, .*; this is x64$/],
  ],
  [
    "other weights",
    header({}, { sha256: OTHER_DIGEST, network: OTHER_DIGEST }),
    [/other weights: their sha256 was b{12}…/],
  ],
  [
    "another model",
    header({}, { name: "quality", confidence: 0.5 }),
    [/^"detect" runs the model "quality", before it ran/],
  ],
  ["no model", header({ models: [] }), [/^"detect", which ran the model "default", is missing$/]],
  [
    "another clip",
    header({ clip: { name: "lot.mp4", sha256: OTHER_DIGEST } }),
    [/another clip.* lot\.mp4 has f{12}…$/],
  ],
];
for (const [what, is, expected] of cases)
  test(`what a golden was recorded from, against ${what}`, () => {
    const said = compareOrigins(header(), is);
    assert.equal(said.length, expected.length, said.join("\n"));
    for (const [index, sentence] of said.entries()) assert.match(sentence, expected[index] ?? /nothing/);
  });

test("reports a new model", () =>
  assert.deepEqual(compareOrigins(header({ models: [] }), header()), ['"detect" with the model "default" is new']));
