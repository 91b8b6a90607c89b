import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNodeVersion } from "./node-version.mjs";

const table: readonly (readonly [version: string, usable: boolean, quiet: boolean])[] = [
  ["v18.20.4", false, false],
  ["v20.10.0", false, false],
  ["v20.11.0", true, true],
  ["v21.7.3", true, false],
  ["v22.12.0", true, true],
  ["v24.1.0", true, true],
  ["v26.0.0", true, false],
];
for (const [version, usable, quiet] of table) {
  test(`${usable ? "accepts" : "rejects"} Node ${version}${quiet ? "" : " with a message"}`, () => {
    const result = checkNodeVersion(version);
    assert.equal(result.usable, usable);
    if (quiet) assert.equal(result.message, null);
    else assert.match(result.message ?? "", /runs on Node 20, 22, 24.*this is Node v/);
  });
}
