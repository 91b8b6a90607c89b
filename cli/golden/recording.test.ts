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
    [/^"detect" has the threshold confidence 0\.5, and had 0\.4$/, /threshold weak 0\.2, and had 0\.1$/],
  ],
  [
    "a conversion that gives another network",
    header({}, { network: OTHER_DIGEST }),
    [/"default" is converted otherwise/],
  ],
  [
    "a network for another kind of machine",
    header({ machine: "x64" }, { network: OTHER_DIGEST }),
    [/another kind of machine, arm64, .*; this is x64$/],
  ],
  ["other weights", header({}, { sha256: OTHER_DIGEST, network: OTHER_DIGEST }), [/weights had the sha256 b{12}…/]],
  ["another model", header({}, { name: "quality", confidence: 0.5 }), [/^"detect" looks with "quality", and did with/]],
  ["no model", header({ models: [] }), [/^"detect", which looked with the model "default", is not there$/]],
  [
    "another clip",
    header({ clip: { name: "lot.mp4", sha256: OTHER_DIGEST } }),
    [/not the clip .* lot\.mp4 has f{12}…$/],
  ],
];
for (const [what, is, expected] of cases)
  test(`what a golden was recorded from, against ${what}`, () => {
    const said = compareOrigins(header(), is);
    assert.equal(said.length, expected.length, said.join("\n"));
    for (const [index, sentence] of said.entries()) assert.match(sentence, expected[index] ?? /nothing/);
  });

test("a model that looks now and did not before is told", () =>
  assert.deepEqual(compareOrigins(header({ models: [] }), header()), [
    '"detect" looks with "default", and did not before',
  ]));
