import assert from "node:assert/strict";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { openMapTiles } from "./map-tiles.ts";
import { drawTile, writePmTiles } from "./pmtiles.fixture.ts";
import { TileFile } from "./tile-file.ts";

const folder = temporaryFolder();
const { signal } = new AbortController();
const GREEN = drawTile([180, 210, 170]);
const TILES = Array.from({ length: 8 }, (_, x) => ({ z: 3, x, y: 2, data: Buffer.concat([GREEN, Buffer.from([x])]) }));
const open = async (...options: Parameters<typeof writePmTiles>): Promise<TileFile> => {
  const file = await TileFile.open(writePmTiles(...options));
  after(() => file.close());
  return file;
};

test("reads tiles, and null where there is none", async () => {
  const file = await open(join(folder, "good.pmtiles"), TILES, { attribution: "© <b>them</b>" });
  assert.deepEqual([file.type, file.minZoom, file.maxZoom, file.attribution], ["image/png", 3, 3, "© <b>them</b>"]);
  for (const { z, x, y, data } of TILES) assert.deepEqual(Buffer.from((await file.read(z, x, y, signal)) ?? []), data);
  assert.equal(await file.read(3, 0, 3, signal), null);
  assert.equal(await file.read(2, 0, 0, signal), null);
  assert.equal(await file.read(12, 0, 0, signal), null);
});

describe("rejects, with what was expected", () => {
  const notTiles = join(folder, "text.pmtiles");
  writeFileSync(notTiles, "a text");
  const empty = join(folder, "empty.pmtiles");
  writeFileSync(empty, "");
  const cut = writePmTiles(join(folder, "cut.pmtiles"), TILES);
  truncateSync(cut, 140);
  for (const [name, path, reason] of [
    ["a text", notTiles, /is not a PMTiles file of version 3; pmtiles convert/],
    ["an empty file", empty, /is not a PMTiles file/],
    ["an older version", writePmTiles(join(folder, "old.pmtiles"), TILES, { header: { 7: 2 } }), /of version 3/],
    [
      "vector tiles",
      writePmTiles(join(folder, "vector.pmtiles"), TILES, { type: 1 }),
      /has vector tiles; expected raster/,
    ],
    ["a file that is not there", join(folder, "none.pmtiles"), /ENOENT/],
    ["a file that ends early", cut, /.+/],
  ] as const)
    test(name, async () => {
      await assert.rejects(TileFile.open(path), reason);
      await assert.rejects(openMapTiles({ tiles: path, attribution: "", max_zoom: 19 }), /\(map\.tiles\): .+/);
    });
});

test("a directory that refers to too much is not followed", async () => {
  // The offset of tiles is far behind the end of the file.
  const file = await open(join(folder, "far.pmtiles"), TILES, { header: { 62: 1 } });
  await assert.rejects(file.read(3, 0, 2, signal), /damaged: it refers to/);
});

test("the text of the operator is shown in place of that of the file", async () => {
  const path = writePmTiles(join(folder, "text-of-file.pmtiles"), TILES, { attribution: "of the file" });
  for (const [attribution, shown] of [
    ["", "of the file"],
    ["of the operator", "of the operator"],
  ] as const) {
    const tiles = await openMapTiles({ tiles: path, attribution, max_zoom: 19 });
    assert.deepEqual([tiles?.attribution, tiles?.maxZoom, tiles?.origins], [shown, 3, []]);
    await tiles?.close();
  }
  const url = "https://{s}.example.org/{z}/{x}/{y}.png";
  const far = await openMapTiles({ tiles: url, attribution: "them", max_zoom: 17 });
  assert.deepEqual([far?.url, far?.maxZoom, far?.origins.length], [url, 17, 3]);
  assert.equal(await openMapTiles({ tiles: null, attribution: "", max_zoom: 19 }), null);
});
