import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readTileSource } from "./tile-source.ts";

describe("addresses and files of tiles", () => {
  for (const [tiles, origins] of [
    ["https://tiles.example.org/{z}/{x}/{y}.png", ["https://tiles.example.org"]],
    ["http://10.0.0.5:8000/t?z={z}&x={x}&y={y}&key=abc", ["http://10.0.0.5:8000"]],
    [
      "https://{s}.example.org/{z}/{x}/{y}",
      ["https://a.example.org", "https://b.example.org", "https://c.example.org"],
    ],
    ["https://example.org/{s}/{z}/{x}/{y}", ["https://example.org"]],
  ] as const)
    test(tiles, () => assert.deepEqual(readTileSource(tiles), { kind: "url", url: tiles, origins }));

  test("a file", () =>
    assert.deepEqual(readTileSource("/srv/map.pmtiles"), { kind: "file", path: "/srv/map.pmtiles" }));
});

describe("rejects, with what was expected", () => {
  for (const [tiles, reason] of [
    ["https://tiles.example.org/{z}/{x}.png", /^has no \{y\}; expected .*\{z\}\/\{x\}\/\{y\}/],
    ["https://tiles.example.org/", /^has no \{z\} and no \{x\} and no \{y\}/],
    ["https://tiles.example.org/{z}/{x}/{y}{r}.png", /^has \{r\}; only/],
    ["https://{x}.example.org/{z}/{x}/{y}", /^is not a valid address/],
    ["https://user:secret@example.org/{z}/{x}/{y}", /^is not a valid address of http or https without credentials/],
    ["file:///srv/{z}/{x}/{y}.png", /^is not a valid address/],
    ["https://example.org; script-src */{z}/{x}/{y}", /^is not a valid address/],
    ["/srv/map.mbtiles", /^is "\/srv\/map\.mbtiles"; expected .*\.pmtiles file/],
    ["", /^is ""; expected/],
  ] as const)
    test(JSON.stringify(tiles), () => assert.match(String(readTileSource(tiles)), reason));
});
