import assert from "node:assert/strict";
import { test } from "node:test";
import { shadedZoom, shadeTile, TILE_PIXELS } from "./shade.ts";

/** Around latitude 48.2, longitude 11.6. */
const TILE = { z: 13, x: 4359, y: 2843 };
const METRES_PER_DEGREE = 111_195;

const shadeOf = (heightAt: (latitude: number, longitude: number) => number) => shadeTile({ heightAt }, TILE);
const pixelAt = (pixels: Uint8Array, column: number, row: number) => [
  ...pixels.subarray((row * TILE_PIXELS + column) * 4, (row * TILE_PIXELS + column) * 4 + 4),
];
const facing = (east: number, north: number) =>
  shadeOf((latitude, longitude) => (longitude * 0.667 * east + latitude * north) * METRES_PER_DEGREE * 0.5);

test("level ground is transparent, slopes to the north-west are bright, those to the south-east dark", () => {
  const level = shadeOf(() => 500) ?? assert.fail();
  assert.ok(level.every((value, i) => i % 4 !== 3 || value === 0));
  // Heights that grow to the south-east: the ground falls to the north-west.
  const bright = pixelAt(facing(1, -1) ?? assert.fail(), 100, 100);
  const dark = pixelAt(facing(-1, 1) ?? assert.fail(), 100, 100);
  assert.deepEqual(
    [bright.slice(0, 3), dark.slice(0, 3)],
    [
      [255, 255, 255],
      [0, 0, 0],
    ],
  );
  assert.ok((bright[3] ?? 0) > 20 && (dark[3] ?? 0) > 60, `${bright[3]} ${dark[3]}`);
  const across = pixelAt(facing(1, 1) ?? assert.fail(), 100, 100);
  assert.ok((across[3] ?? 0) < (dark[3] ?? 0), "a slope to the south-west is between them");
});

test("samples are within the tile and a pixel around it", () => {
  let [south, north, west, east] = [90, -90, 180, -180];
  shadeOf((latitude, longitude) => {
    [south, north] = [Math.min(south, latitude), Math.max(north, latitude)];
    [west, east] = [Math.min(west, longitude), Math.max(east, longitude)];
    return 0;
  });
  const pixel = 360 / 2 ** TILE.z / TILE_PIXELS;
  assert.ok(Math.abs(west - ((TILE.x / 2 ** TILE.z) * 360 - 180)) < pixel);
  assert.ok(Math.abs(east - (((TILE.x + 1) / 2 ** TILE.z) * 360 - 180)) < pixel);
  // By the formula of OpenStreetMap's wiki ("Slippy map tilenames").
  const edge = (y: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / 2 ** TILE.z))) * 180) / Math.PI;
  assert.ok(Math.abs(north - edge(TILE.y)) < pixel && Math.abs(south - edge(TILE.y + 1)) < pixel);
});

test("nothing is drawn where heights are unknown, and no tile where none is known", () => {
  assert.equal(
    shadeOf(() => Number.NaN),
    null,
  );
  const middle = (TILE.x + 0.5) / 2 ** TILE.z;
  const half = shadeOf((_, longitude) => ((longitude + 180) / 360 < middle ? longitude * -50_000 : Number.NaN));
  assert.ok(half !== null);
  assert.equal(pixelAt(half, 200, 100)[3], 0);
  assert.ok((pixelAt(half, 50, 100)[3] ?? 0) > 0);
});

test("the largest zoom follows the distance of the samples", () => {
  for (const [spacingM, zoom] of [
    [92.6, 11],
    [30.9, 13],
    [1, 17],
    [0.01, 17],
    [100_000, 9],
  ] as const)
    assert.equal(shadedZoom(spacingM), zoom, `${spacingM} m`);
});
