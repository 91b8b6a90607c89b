import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../test/graph.fixture.ts";
import { geoidHeightM } from "./geoid.ts";
import { decodeBlock } from "./geotiff-blocks.ts";
import { GridReader } from "./grid.ts";
import { openHgt } from "./hgt.ts";
import { type TiffOptions, writeDted, writeHgt, writeTiff } from "./terrain.fixture.ts";
import { TerrainFolder, type UnusableFile } from "./terrain-folder.ts";

const near = (actual: number, expected: number, within: number): void =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`);

/** A plane: bilinear interpolation is exact on it. */
const PLANE = (latitude: number, longitude: number): number => 400 + (latitude - 48) * 600 - (longitude - 11) * 1200;

/** Above mean sea level, as the files have it. */
const seaHeight = (terrain: TerrainFolder, latitude: number, longitude: number): number =>
  terrain.heightAt(latitude, longitude) - geoidHeightM(latitude, longitude);

test("the geoid has the heights that are published for EGM96", () => {
  // NGA's test points.
  for (const [latitude, longitude, height] of [
    [38.628155, 269.779155, -31.628],
    [-14.621217, 305.021114, -2.969],
    [46.874319, 102.448729, -43.575],
    [-23.617446, 133.874712, 15.871],
    [38.625473, 359.9995, 50.066],
    [-0.466744, 0.0023, 17.329],
  ] as const)
    near(geoidHeightM(latitude, longitude), height, 0.1);
  near(geoidHeightM(90, 0), geoidHeightM(90, 120), 0.01);
  near(geoidHeightM(10, 180), geoidHeightM(10, -180), 1e-9);
});

test("reads SRTM tiles, across the border of two of them, and knows voids", () => {
  const folder = temporaryFolder();
  const withVoid = (latitude: number, longitude: number): number =>
    Math.abs(latitude - 48.5) < 0.02 && Math.abs(longitude - 11.5) < 0.02 ? Number.NaN : PLANE(latitude, longitude);
  writeHgt(folder, [48, 11], 1201, withVoid);
  writeHgt(folder, [48, 12], 1201, PLANE);
  writeHgt(folder, [-3, -72], 121, () => -7);
  const terrain = new TerrainFolder(folder);
  assert.equal(terrain.size, 3);
  for (const longitude of [11.00001, 11.25, 11.99999, 12, 12.00001, 12.7])
    near(seaHeight(terrain, 48.2, longitude), PLANE(48.2, longitude), 1);
  near(seaHeight(terrain, -2.3, -71.4), -7, 1e-6);
  assert.ok(Number.isNaN(terrain.heightAt(48.5, 11.5)));
  assert.ok(Number.isNaN(terrain.heightAt(50.5, 11.5)));
});

test("reads DTED: negative heights, columns from the west, voids", () => {
  const folder = temporaryFolder();
  writeDted(folder, [-12, -78], 601, (latitude, longitude) =>
    latitude > -11.1 && longitude > -77.1 ? Number.NaN : -50 + (latitude + 12) * 300 + (longitude + 78) * 60,
  );
  const terrain = new TerrainFolder(folder);
  assert.deepEqual(terrain.unusable, []);
  for (const [latitude, longitude] of [
    [-11.95, -77.9],
    [-11.5, -77.25],
    [-11.9, -77.05],
  ] as const)
    near(seaHeight(terrain, latitude, longitude), -50 + (latitude + 12) * 300 + (longitude + 78) * 60, 1);
  assert.ok(Number.isNaN(terrain.heightAt(-11.05, -77.05)));
});

const TIFF: TiffOptions = { north: 48.1, west: 11, step: 1 / 3600, columns: 200, rows: 150 };
const PLACES = [
  [48.0999, 11.0001],
  [48.09, 11.02],
  [48.0733, 11.0331],
  [48.0586, 11.0553],
] as const;

test("reads GeoTIFF in strips and tiles, compressed and predicted, of either byte order, and BigTIFF", () => {
  const variants: readonly Partial<TiffOptions>[] = [
    {},
    { isPoint: true },
    { stripRows: 150 },
    { stripRows: 7, samples: "int16", isBigEndian: true },
    { tile: 64, compression: "deflate", predictor: 3 },
    { tile: 128, compression: "deflate", predictor: 2, samples: "int16" },
    { tile: 32, isBig: true },
    { isBig: true, isBigEndian: true, stripRows: 11, compression: "deflate" },
  ];
  for (const variant of variants) {
    const folder = temporaryFolder();
    writeTiff(join(folder, "dem.tif"), { ...TIFF, ...variant }, PLANE);
    const terrain = new TerrainFolder(folder);
    assert.deepEqual(terrain.unusable, [], JSON.stringify(variant));
    const within = variant.samples === "int16" ? 1 : 0.001;
    for (const [latitude, longitude] of PLACES)
      near(seaHeight(terrain, latitude, longitude), PLANE(latitude, longitude), within);
    assert.ok(Number.isNaN(terrain.heightAt(48.1005, 11.02)));
    assert.ok(Number.isNaN(terrain.heightAt(48.08, 11.0562)));
  }
});

test("heights above the ellipsoid, in feet, and missing ones are read as declared", () => {
  const folder = temporaryFolder();
  const heights = (latitude: number, longitude: number): number =>
    longitude > 11.03 ? Number.NaN : PLANE(latitude, longitude);
  writeTiff(join(folder, "a.tif"), { ...TIFF, noData: "-9999", geoKeys: { 4096: 4979 } }, heights);
  near(new TerrainFolder(folder).heightAt(48.09, 11.02), PLANE(48.09, 11.02), 0.001);
  assert.ok(Number.isNaN(new TerrainFolder(folder).heightAt(48.09, 11.04)));
  writeTiff(join(folder, "a.tif"), { ...TIFF, geoKeys: { 4096: 5773, 4099: 9002 } }, PLANE);
  near(seaHeight(new TerrainFolder(folder), 48.09, 11.02), PLANE(48.09, 11.02) * 0.3048, 0.001);
});

test("the finest file with a height wins, also in subfolders", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "fine"));
  writeHgt(folder, [48, 11], 121, () => 100);
  const isMissing = (longitude: number): boolean => longitude > 11.03;
  const options = { ...TIFF, noData: "-32768" };
  writeTiff(join(folder, "fine", "b.TIF"), options, (_, longitude) => (isMissing(longitude) ? Number.NaN : 200));
  const terrain = new TerrainFolder(folder);
  near(seaHeight(terrain, 48.09, 11.02), 200, 1e-3);
  near(seaHeight(terrain, 48.09, 11.04), 100, 1e-3);
});

test("files that cannot be used are listed with the reason and what to do", () => {
  const folder = temporaryFolder();
  writeTiff(join(folder, "utm.tif"), { ...TIFF, geoKeys: { 1024: 1, 3072: 32_632 } }, PLANE);
  writeTiff(join(folder, "old.tif"), { ...TIFF, geoKeys: { 2048: 4267 } }, PLANE);
  writeFileSync(join(folder, "empty.tif"), "");
  writeFileSync(join(folder, "N48E011.hgt"), Buffer.alloc(1000));
  writeFileSync(join(folder, "alps.hgt"), Buffer.alloc(2));
  writeFileSync(join(folder, "a.dt2"), "UHL1");
  writeFileSync(join(folder, "readme.txt"), "not a terrain file");
  truncateSync(writeTiff(join(folder, "short.tif"), TIFF, PLANE), 1000);
  const { size, unusable } = new TerrainFolder(folder);
  assert.equal(size, 0);
  const reasonOf = (file: string): string => unusable.find((each) => each.file === file)?.reason ?? "";
  assert.match(reasonOf("utm.tif"), /is projected \(EPSG:32632\).*gdalwarp -t_srs EPSG:4326/);
  assert.match(reasonOf("old.tif"), /EPSG:4267/);
  assert.match(reasonOf("empty.tif"), /is not a TIFF file/);
  assert.match(reasonOf("N48E011.hgt"), /has 1000 bytes; expected 2884802/);
  assert.match(reasonOf("alps.hgt"), /expected one like N48E011\.hgt/);
  assert.match(reasonOf("short.tif"), /ends early/);
  assert.equal(unusable.length, 7);
  assert.throws(() => new TerrainFolder(join(folder, "nowhere")), /ENOENT/);
});

test("a file that disappears or is damaged makes its heights unknown, and is reported", () => {
  const folder = temporaryFolder();
  const path = writeHgt(folder, [48, 11], 121, () => 100);
  const faults: UnusableFile[] = [];
  const terrain = new TerrainFolder(folder, (fault) => faults.push(fault));
  rmSync(path);
  assert.ok(Number.isNaN(terrain.heightAt(48.5, 11.5)));
  assert.ok(Number.isNaN(terrain.heightAt(48.5, 11.5)));
  assert.deepEqual([faults.length, faults[0]?.file], [1, "N48E011.hgt"]);
});

test("memory is bounded, whatever was read", () => {
  const folder = temporaryFolder();
  const grid = openHgt(writeHgt(folder, [48, 11], 1201, PLANE));
  const reader = new GridReader(() => assert.fail(), 400_000);
  for (let round = 0; round < 2; round++)
    for (let latitude = 48.001; latitude < 49; latitude += 0.01) {
      near(reader.heightAt(grid, latitude, 11.3), PLANE(latitude, 11.3), 1);
      assert.ok(reader.bytes <= 400_000, `${reader.bytes} bytes`);
    }
});

test("blocks compressed by another program are read", () => {
  const folder = temporaryFolder();
  const [columns, rows] = [64, 48];
  // Little structure: LZW needs codes of all widths, and clears its table.
  const pixels = Buffer.alloc(columns * rows * 64);
  for (let i = 0; i < pixels.length; i++) pixels[i] = (i * 7919 + (((i >> 5) * 104_729) % 251)) & 0xff;
  const size = { columns: columns * 8, rows: rows * 8 };
  writeFileSync(join(folder, "in.gray"), pixels);
  const fileOf = (algorithm: string): string => join(folder, `${algorithm}.tif`);
  const algorithms = [
    ["raw", 1],
    ["lzw", 5],
    ["deflate", 32_946],
    ["packbits", 32_773],
  ] as const;
  const format = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", `${size.columns}x${size.rows}`];
  const outputs = algorithms.flatMap(([name]) => ["-frames:v", "1", "-compression_algo", name, fileOf(name)]);
  execFileSync("ffmpeg", ["-v", "error", "-y", ...format, "-i", join(folder, "in.gray"), ...outputs]);
  for (const [algorithm, compression] of algorithms) {
    const tiff = readTiff(readFileSync(fileOf(algorithm)));
    assert.ok(
      compression === tiff.compression || (compression === 32_946 && tiff.compression === 8),
      `${tiff.compression}`,
    );
    const coding = { isLittleEndian: true, compression: tiff.compression, predictor: 1, format: 1, bits: 8 };
    const decoded = tiff.strips.flatMap((strip, i) => {
      const stripRows = Math.min(tiff.stripRows, size.rows - i * tiff.stripRows);
      return [...decodeBlock(strip, { ...coding, columns: size.columns, rows: stripRows })];
    });
    assert.ok(Buffer.from(decoded).equals(pixels), algorithm);
  }
});

/** The tags that the test needs, of a little-endian file. */
function readTiff(bytes: Buffer) {
  const at = bytes.readUInt32LE(4);
  const tags = new Map<number, readonly number[]>();
  for (let i = 0; i < bytes.readUInt16LE(at); i++) {
    const entry = at + 2 + i * 12;
    const [type, count] = [bytes.readUInt16LE(entry + 2), bytes.readUInt32LE(entry + 4)];
    const size = type === 3 ? 2 : type === 4 ? 4 : 0;
    const from = size * count <= 4 ? entry + 8 : bytes.readUInt32LE(entry + 8);
    if (size > 0)
      tags.set(
        bytes.readUInt16LE(entry),
        Array.from({ length: count }, (_, n) => bytes.readUIntLE(from + n * size, size)),
      );
  }
  const offsets = tags.get(273) ?? [];
  const lengths = tags.get(279) ?? [];
  return {
    compression: tags.get(259)?.[0] ?? 0,
    stripRows: tags.get(278)?.[0] ?? 0,
    strips: offsets.map((offset, i) => bytes.subarray(offset, offset + (lengths[i] ?? 0))),
  };
}

test("damaged files give unknown heights or a reason, never an exception", () => {
  const folder = temporaryFolder();
  const sound = [
    readFileSync(writeTiff(join(folder, "x.tif"), { ...TIFF, tile: 64, compression: "deflate", predictor: 3 }, PLANE)),
    readFileSync(writeTiff(join(folder, "x.tif"), { ...TIFF, isBig: true }, PLANE)),
    readFileSync(writeDted(folder, [48, 11], 41, PLANE)),
  ];
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < 150; round++) {
    const bytes = Buffer.from(sound[round % sound.length] ?? "");
    // Most faults in the directory, at the end of these files, and in the header.
    for (let i = 0; i < 1 + random(8); i++) {
      const at = random(2) === 0 ? random(200) : bytes.length - 1 - random(Math.min(bytes.length, 700));
      bytes[at] = random(256);
    }
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    writeFileSync(join(folder, round % sound.length === 2 ? "x.dt1" : "x.tif"), bytes);
    const terrain = new TerrainFolder(folder);
    for (const [latitude, longitude] of PLACES) assert.equal(typeof terrain.heightAt(latitude, longitude), "number");
  }
});
