import assert from "node:assert/strict";
import { test } from "node:test";
import { makeContext } from "../registry.fixture.ts";
import resize from "./resize.ts";

const expand = (to: "360p" | "720p" | "1080p" | null) => {
  assert.equal(resize.kind, "composite");
  return resize.expand({ to }, makeContext()).nodes;
};

test("null passes frames through unchanged", () => {
  assert.deepEqual(
    expand(null).map(({ factory }) => factory),
    ["identity"],
  );
});

for (const [to, lines] of [
  ["360p", 360],
  ["720p", 720],
  ["1080p", 1080],
] as const) {
  test(`${to} limits to ${lines} lines, even sizes and square pixels, without bars`, () => {
    const [scale, size] = expand(to);
    assert.deepEqual(scale?.properties, { "add-borders": false });
    assert.equal(size?.properties.caps, `video/x-raw,width=[2,32768,2],height=[2,${lines},2],pixel-aspect-ratio=1/1`);
  });
}
