import assert from "node:assert/strict";
import { test } from "node:test";
import { splitAttribution } from "./attribution.ts";

test("only https addresses are links", () => {
  const links = (text: string) => splitAttribution(text).filter(({ isLink }) => isLink);
  assert.deepEqual(links("© OpenStreetMap contributors, https://www.openstreetmap.org/copyright"), [
    { text: "https://www.openstreetmap.org/copyright", isLink: true },
  ]);
  assert.deepEqual(links("javascript:alert(1) http://example.org https:// data:text/html,x"), []);
  assert.deepEqual(splitAttribution("  "), []);
});
