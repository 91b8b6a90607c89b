/**
 * GeoTIFF (OGC 19-008): one band of heights in latitude and longitude, in strips or tiles, also BigTIFF and
 * cloud-optimised files. Only the first image of a file is read, and of that only the blocks that are needed.
 */
import { type BlockCoding, decodeBlock, expectCoding, isPlain } from "./geotiff-blocks.ts";
import { type Grid, GridFault, readParts } from "./grid.ts";

const TAG = {
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  stripOffsets: 273,
  bands: 277,
  stripRows: 278,
  stripBytes: 279,
  predictor: 317,
  tileColumns: 322,
  tileRows: 323,
  tileOffsets: 324,
  tileBytes: 325,
  format: 339,
  scale: 33_550,
  tiepoint: 33_922,
  transformation: 34_264,
  geoKeys: 34_735,
  noData: 42_113,
} as const;
const KEY = {
  model: 1024,
  raster: 1025,
  geographic: 2048,
  projected: 3072,
  vertical: 4096,
  verticalUnit: 4099,
} as const;

/** Bytes of a value by its type; types that are not listed are skipped. */
const TYPE_BYTES: Readonly<Record<number, number>> = {
  ...{ 1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 7: 1, 8: 2, 9: 4, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8 },
};
const MOST_ENTRIES = 4096;
const MOST_VALUES = 2_000_000;
const MOST_SIDE = 2 ** 22;
/** Larger blocks would take long to read and fill the cache. */
const MOST_BLOCK_SAMPLES = 2 ** 23;
const PLAIN_BLOCK_SAMPLES = 2 ** 16;

/** Within a metre of WGS-84: WGS 84 (2D and 3D), ETRS89, NAD83. */
const DATUMS = new Set([4326, 4979, 4258, 4937, 4269, 32_767]);
/** Heights above the ellipsoid: WGS 84 3D, ETRS89 3D, and the codes that GeoTIFF 1.0 had for it. */
const ELLIPSOIDAL = new Set([4979, 4937, 5019, 5030]);
const METRES_PER_UNIT: Readonly<Record<number, number>> = { 9001: 1, 9002: 0.3048, 9003: 1200 / 3937 };

const TO_DEGREES = "convert it with gdalwarp -t_srs EPSG:4326";

/** Throws `GridFault`. */
export function openGeoTiff(path: string): Grid {
  return readParts(path, (read, size) => {
    const tags = readTags(read, size);
    const image = describeImage(tags);
    const place = locateImage(tags, image);
    const noData = readNoData(tags.text(TAG.noData));
    return {
      path,
      ...place,
      columns: image.width,
      rows: image.height,
      blockColumns: image.coding.columns,
      blockRows: image.coding.rows,
      readBlock: (right, down) => readBlock(path, image, { right, down, noData, unitM: place.unitM }),
    };
  });
}

type Read = (at: number, bytes: number) => Buffer;

interface Tags {
  readonly isLittleEndian: boolean;
  numbers(tag: number): readonly number[] | null;
  text(tag: number): string | null;
}

function readTags(read: Read, size: number): Tags {
  const mark = size < 16 ? "" : read(0, 2).toString("latin1");
  if (mark !== "II" && mark !== "MM") throw new GridFault("is not a TIFF file");
  const isLittleEndian = mark === "II";
  const head = view(read(0, 16));
  const version = head.getUint16(2, isLittleEndian);
  if (version !== 42 && version !== 43) throw new GridFault("is not a TIFF file");
  const isBig = version === 43;
  const offset = (bytes: DataView, at: number): number =>
    isBig ? Number(bytes.getBigUint64(at, isLittleEndian)) : bytes.getUint32(at, isLittleEndian);
  const [countBytes, entryBytes, offsetBytes] = isBig ? [8, 20, 8] : [2, 12, 4];
  const at = isBig ? offset(head, 8) : offset(head, 4);
  const counter = view(read(at, countBytes));
  const count = isBig ? offset(counter, 0) : counter.getUint16(0, isLittleEndian);
  if (count > MOST_ENTRIES) throw new GridFault(`has ${count} tags; expected up to ${MOST_ENTRIES}`);
  const entries = view(read(at + countBytes, count * entryBytes));
  const values = new Map<number, { readonly type: number; readonly count: number; readonly bytes: Buffer }>();
  const wanted = new Set<number>(Object.values(TAG));
  for (let i = 0; i < count; i++) {
    const entry = i * entryBytes;
    const tag = entries.getUint16(entry, isLittleEndian);
    const type = entries.getUint16(entry + 2, isLittleEndian);
    const many = offset(entries, entry + 4);
    const bytes = many * (TYPE_BYTES[type] ?? 0);
    if (!wanted.has(tag) || bytes === 0) continue;
    if (many > MOST_VALUES) throw new GridFault(`has ${many} values in tag ${tag}; expected up to ${MOST_VALUES}`);
    const valueAt = entry + 4 + offsetBytes;
    const isInside = bytes <= offsetBytes;
    const from = isInside ? at + countBytes + valueAt : offset(entries, valueAt);
    values.set(tag, { type, count: many, bytes: read(from, bytes) });
  }
  return {
    isLittleEndian,
    numbers(tag) {
      const value = values.get(tag);
      return value === undefined ? null : readNumbers(value.type, value.count, view(value.bytes), isLittleEndian);
    },
    text: (tag) => values.get(tag)?.bytes.toString("latin1") ?? null,
  };
}

const view = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function readNumbers(type: number, count: number, bytes: DataView, isLittleEndian: boolean): readonly number[] {
  const size = TYPE_BYTES[type] ?? 1;
  const readOne = (at: number): number => {
    if (type === 3) return bytes.getUint16(at, isLittleEndian);
    if (type === 4 || type === 13) return bytes.getUint32(at, isLittleEndian);
    if (type === 12) return bytes.getFloat64(at, isLittleEndian);
    if (type === 11) return bytes.getFloat32(at, isLittleEndian);
    if (type === 16 || type === 18) return Number(bytes.getBigUint64(at, isLittleEndian));
    if (type === 17) return Number(bytes.getBigInt64(at, isLittleEndian));
    if (type === 8) return bytes.getInt16(at, isLittleEndian);
    if (type === 9) return bytes.getInt32(at, isLittleEndian);
    return bytes.getUint8(at);
  };
  return Array.from({ length: count }, (_, i) => readOne(i * size));
}

interface Image {
  readonly width: number;
  readonly height: number;
  readonly coding: BlockCoding;
  readonly isTiled: boolean;
  /** Of blocks without compression: parts of strips are read. */
  readonly plain: { readonly stripRows: number } | null;
  readonly offsets: readonly number[];
  readonly bytes: readonly number[];
}

function describeImage(tags: Tags): Image {
  const one = (tag: number, otherwise: number): number => tags.numbers(tag)?.[0] ?? otherwise;
  const [width, height] = [one(TAG.width, 0), one(TAG.height, 0)];
  if (!(width >= 2 && height >= 2 && width <= MOST_SIDE && height <= MOST_SIDE))
    throw new GridFault(`has ${width} by ${height} samples; expected at least 2 by 2`);
  if (one(TAG.bands, 1) !== 1)
    throw new GridFault(
      `has ${one(TAG.bands, 1)} bands; expected one with heights: extract it with gdal_translate -b 1`,
    );
  const isTiled = tags.numbers(TAG.tileOffsets) !== null;
  const stripRows = Math.min(one(TAG.stripRows, height), height);
  const coding: BlockCoding = {
    isLittleEndian: tags.isLittleEndian,
    compression: one(TAG.compression, 1),
    predictor: one(TAG.predictor, 1),
    format: one(TAG.format, 1),
    bits: one(TAG.bits, 1),
    columns: isTiled ? one(TAG.tileColumns, 0) : width,
    rows: isTiled ? one(TAG.tileRows, 0) : stripRows,
  };
  expectCoding(coding);
  const offsets = tags.numbers(isTiled ? TAG.tileOffsets : TAG.stripOffsets) ?? [];
  const bytes = tags.numbers(isTiled ? TAG.tileBytes : TAG.stripBytes) ?? [];
  const blocks = Math.ceil(width / coding.columns) * Math.ceil(height / coding.rows);
  if (!(blocks > 0) || offsets.length < blocks || bytes.length < blocks)
    throw new GridFault(`lists ${offsets.length} blocks; expected ${blocks}`);
  const isSplit = !isTiled && isPlain(coding);
  const rows = isSplit ? Math.max(1, Math.min(stripRows, Math.floor(PLAIN_BLOCK_SAMPLES / width))) : coding.rows;
  if (coding.columns * rows > MOST_BLOCK_SAMPLES)
    throw new GridFault(
      `has blocks of ${coding.columns} by ${rows} samples; expected smaller ones: convert it with gdal_translate -co TILED=YES -co COMPRESS=DEFLATE`,
    );
  // Blocks must not contain the end of a strip.
  const whole = isSplit ? largestDivisor(stripRows, rows) : rows;
  return {
    ...{ width, height, isTiled, offsets, bytes },
    coding: { ...coding, rows: whole },
    plain: isSplit ? { stripRows } : null,
  };
}

function largestDivisor(of: number, most: number): number {
  for (let divisor = most; divisor > 1; divisor--) if (of % divisor === 0) return divisor;
  return 1;
}

interface Place extends Pick<Grid, "west" | "north" | "stepEast" | "stepSouth" | "datum"> {
  readonly unitM: number;
}

function locateImage(tags: Tags, { width, height }: Image): Place {
  const key = readGeoKeys(tags.numbers(TAG.geoKeys));
  if (key(KEY.model) === 1)
    throw new GridFault(
      `is projected (EPSG:${key(KEY.projected) ?? "unknown"}); expected latitude and longitude: ${TO_DEGREES}`,
    );
  const geographic = key(KEY.geographic) ?? 4326;
  if (!DATUMS.has(geographic))
    throw new GridFault(`has coordinates in EPSG:${geographic}; expected WGS 84 (EPSG:4326): ${TO_DEGREES}`);
  const unitM = METRES_PER_UNIT[key(KEY.verticalUnit) ?? 9001];
  if (unitM === undefined)
    throw new GridFault(`has heights in the unit ${key(KEY.verticalUnit)}; expected metres or feet`);
  const { west, north, stepEast, stepSouth } = readCorner(tags);
  // The corner is that of the first sample's area, or its point.
  const half = key(KEY.raster) === 2 ? 0 : 0.5;
  const place = {
    ...{ west: west + half * stepEast, north: north - half * stepSouth, stepEast, stepSouth, unitM },
    datum: ELLIPSOIDAL.has(key(KEY.vertical) ?? geographic) ? ("ellipsoid" as const) : ("geoid" as const),
  };
  const isOnEarth = place.north <= 90.5 && place.north - (height - 1) * stepSouth >= -90.5;
  if (!isOnEarth || width * stepEast > 361 || Math.abs(place.west) > 361)
    throw new GridFault("its corner or its size is not in degrees of latitude and longitude");
  return place;
}

function readCorner(tags: Tags): Pick<Grid, "west" | "north" | "stepEast" | "stepSouth"> {
  const [scale, tie, matrix] = [TAG.scale, TAG.tiepoint, TAG.transformation].map((tag) => tags.numbers(tag));
  const [x = Number.NaN, y = Number.NaN] = scale ?? [];
  if (scale !== null && tie && x > 0 && y > 0 && tie.length >= 6) {
    const [column, row, , longitude, latitude] = tie as readonly [number, number, number, number, number];
    return { west: longitude - column * x, north: latitude + row * y, stepEast: x, stepSouth: y };
  }
  const [a = 0, b = 1, , west = 0, c = 1, d = 0, , north = 0] = matrix ?? [];
  if (matrix && a > 0 && b === 0 && c === 0 && d < 0) return { west, north, stepEast: a, stepSouth: -d };
  throw new GridFault(`has no position, or is rotated; expected north at the top: ${TO_DEGREES}`);
}

/** Keys with short values; those with others are not needed. */
function readGeoKeys(words: readonly number[] | null): (key: number) => number | undefined {
  const keys = new Map<number, number>();
  for (let at = 4; at + 3 < (words?.length ?? 0); at += 4) {
    const [key = 0, where, , value = 0] = words?.slice(at, at + 4) ?? [];
    if (where === 0) keys.set(key, value);
  }
  return (key) => keys.get(key);
}

function readNoData(text: string | null): number | null {
  const value = Number((text ?? "").replaceAll("\0", "").trim() || Number.NaN);
  return Number.isNaN(value) ? null : value;
}

interface BlockOrder {
  readonly right: number;
  readonly down: number;
  readonly noData: number | null;
  readonly unitM: number;
}

/** A height of no place on earth: files without a declared value use such numbers. */
const LOWEST_M = -12_000;
const HIGHEST_M = 10_000;

function readBlock(path: string, image: Image, { right, down, noData, unitM }: BlockOrder): Float32Array {
  const { coding, width, height } = image;
  const across = Math.ceil(width / coding.columns);
  // Strips at the end have fewer rows, tiles are padded.
  const rows = image.isTiled ? coding.rows : Math.min(coding.rows, height - down * coding.rows);
  const stored = readStored(path, image, { index: down * across + right, down, rows });
  const block = new Float32Array(coding.columns * coding.rows).fill(Number.NaN);
  // A sparse file leaves out blocks without heights.
  if (stored === null) return block;
  const values = decodeBlock(stored, { ...coding, rows });
  const missing = noData === null ? null : Math.fround(noData);
  for (const [i, value] of values.entries()) {
    const isKnown = value !== noData && (missing === null || Math.fround(value) !== missing);
    if (isKnown && value * unitM > LOWEST_M && value * unitM < HIGHEST_M) block[i] = value * unitM;
  }
  return block;
}

function readStored(
  path: string,
  { coding, plain, offsets, bytes }: Image,
  { index, down, rows }: { readonly index: number; readonly down: number; readonly rows: number },
): Buffer | null {
  if (plain === null) {
    const size = bytes[index] ?? 0;
    return size === 0 ? null : readParts(path, (read) => read(offsets[index] ?? 0, size));
  }
  const rowBytes = (coding.columns * coding.bits) / 8;
  const strip = Math.floor((down * coding.rows) / plain.stripRows);
  if ((bytes[strip] ?? 0) === 0) return null;
  const within = down * coding.rows - strip * plain.stripRows;
  return readParts(path, (read) => read((offsets[strip] ?? 0) + within * rowBytes, rows * rowBytes));
}
