/**
 * The heights of the ground in the files of a folder: SRTM (`.hgt`), DTED (`.dt0` to `.dt2`) and GeoTIFF (`.tif`). Files
 * are listed once; their heights are read when a place needs them.
 */
import { readdirSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { openDted } from "./dted.ts";
import { geoidHeightM, wrapLongitude } from "./geoid.ts";
import { openGeoTiff } from "./geotiff.ts";
import { covers, type Grid, GridReader, spacingM } from "./grid.ts";
import { openHgt } from "./hgt.ts";

/** Throw for a file that they cannot use. */
const OPENERS: Readonly<Record<string, (path: string) => Grid>> = {
  ...{
    ".hgt": openHgt,
    ".dt0": openDted,
    ".dt1": openDted,
    ".dt2": openDted,
    ".tif": openGeoTiff,
    ".tiff": openGeoTiff,
  },
};

const MOST_FILES = 20_000;
const MOST_DEPTH = 5;
/** A grid of more degrees than this is searched for every place, instead of being listed by degree. */
const MOST_CELLS = 400;

export interface UnusableFile {
  /** Relative to the folder. */
  readonly file: string;
  readonly reason: string;
}

export class TerrainFolder {
  /** Files with a known extension that cannot be used. */
  readonly unusable: UnusableFile[] = [];
  readonly #folder: string;
  readonly #reader: GridReader;
  /** Finest first, by the number of their degree. */
  readonly #byCell = new Map<number, Grid[]>();
  readonly #wide: Grid[] = [];
  #count = 0;
  /** Metres between the samples of the finest file; null: there is none. */
  readonly spacingM: number | null;

  /**
   * Throws if the folder cannot be read. `onFault`: a file that was usable can no longer be read; heights of that part are
   * unknown from then on.
   */
  constructor(folder: string, onFault: (fault: UnusableFile) => void = () => {}) {
    this.#folder = folder;
    this.#reader = new GridReader(({ path }, { message }) =>
      onFault({ file: relative(folder, path), reason: message }),
    );
    const grids: Grid[] = [];
    for (const path of listFiles(folder)) this.#open(path, grids);
    this.#count = grids.length;
    grids.sort((a, b) => spacingM(a) - spacingM(b));
    this.spacingM = grids[0] === undefined ? null : spacingM(grids[0]);
    for (const grid of grids) this.#list(grid);
  }

  /** Usable files. */
  get size(): number {
    return this.#count;
  }

  /** Of the heights in memory; bounded. */
  get bytes(): number {
    return this.#reader.bytes;
  }

  /** Metres above the WGS-84 ellipsoid, from the finest file that has a height there. NaN: unknown. */
  heightAt(latitude: number, longitude: number): number {
    const wrapped = wrapLongitude(longitude);
    const cell = cellOf(Math.floor(latitude), Math.floor(wrapped));
    for (const grids of [this.#byCell.get(cell) ?? [], this.#wide])
      for (const grid of grids) {
        if (!covers(grid, latitude, wrapped)) continue;
        const height = this.#reader.heightAt(grid, latitude, wrapped);
        if (Number.isNaN(height)) continue;
        return grid.datum === "ellipsoid" ? height : height + geoidHeightM(latitude, wrapped);
      }
    return Number.NaN;
  }

  #open(path: string, grids: Grid[]): void {
    try {
      const grid = OPENERS[extname(path).toLowerCase()]?.(path);
      if (grid !== undefined) grids.push(grid);
    } catch (error) {
      this.unusable.push({ file: relative(this.#folder, path), reason: (error as Error).message });
    }
  }

  #list(grid: Grid): void {
    const { north, west, stepEast, stepSouth, columns, rows } = grid;
    const [top, bottom] = [Math.floor(north + stepSouth / 2), Math.floor(north - (rows - 0.5) * stepSouth)];
    const [left, right] = [Math.floor(west - stepEast / 2), Math.floor(west + (columns - 0.5) * stepEast)];
    if ((top - bottom + 1) * (right - left + 1) > MOST_CELLS) {
      this.#wide.push(grid);
      return;
    }
    for (let latitude = bottom; latitude <= top; latitude++)
      for (let longitude = left; longitude <= right; longitude++) {
        const cell = cellOf(latitude, Math.floor(wrapLongitude(longitude)));
        const listed = this.#byCell.get(cell) ?? [];
        if (!listed.includes(grid)) listed.push(grid);
        this.#byCell.set(cell, listed);
      }
  }
}

const cellOf = (latitude: number, longitude: number): number => (latitude + 90) * 360 + longitude + 180;

function listFiles(folder: string, depth = 0): readonly string[] {
  const files: string[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MOST_DEPTH) files.push(...listFiles(path, depth + 1));
    else if (!entry.isDirectory() && extname(entry.name).toLowerCase() in OPENERS) files.push(path);
    if (files.length > MOST_FILES)
      throw new Error(`${folder} has more than ${MOST_FILES} files of terrain; merge them, as with gdal_merge.py`);
  }
  return files;
}
