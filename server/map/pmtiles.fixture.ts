/** Writes small PMTiles files (version 3), by the specification. */
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { zxyToTileId } from "pmtiles";
import { PNG } from "pngjs";

export interface FixtureTile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly data: Uint8Array;
}

interface FileOptions {
  /** 1: vector tiles, 2: PNG, 3: JPEG. */
  readonly type?: number;
  readonly attribution?: string;
  /** Changed bytes of the header, by their place. */
  readonly header?: Readonly<Record<number, number>>;
}

const HEADER_BYTES = 127;

/** Returns the path. */
export function writePmTiles(path: string, tiles: readonly FixtureTile[], options: FileOptions = {}): string {
  const { type = 2, attribution } = options;
  const sorted = tiles.map(({ z, x, y, data }) => ({ id: zxyToTileId(z, x, y), data })).sort((a, b) => a.id - b.id);
  const numbers = [
    sorted.length,
    ...sorted.map(({ id }, i) => id - (sorted[i - 1]?.id ?? 0)),
    ...sorted.map(() => 1),
    ...sorted.map(({ data }) => data.length),
    // 0: directly after the one before.
    ...sorted.map((_, i) => (i === 0 ? 1 : 0)),
  ];
  const directory = gzipSync(Buffer.from(numbers.flatMap(toVarint)));
  const metadata = gzipSync(JSON.stringify({ name: "test", ...(attribution !== undefined && { attribution }) }));
  const content = Buffer.concat(sorted.map(({ data }) => data));
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("PMTiles\x03", 0, "latin1");
  let at = HEADER_BYTES;
  for (const [place, length] of [
    [8, directory.length],
    [24, metadata.length],
    [40, 0],
    [56, content.length],
  ] as const) {
    header.writeBigUInt64LE(BigInt(at), place);
    header.writeBigUInt64LE(BigInt(length), place + 8);
    at += length;
  }
  for (const place of [72, 80, 88]) header.writeBigUInt64LE(BigInt(sorted.length), place);
  const zooms = tiles.map(({ z }) => z);
  // Clustered; directories in gzip, tiles as they are.
  for (const [place, value] of [
    [96, 1],
    [97, 2],
    [98, 1],
    [99, type],
    [100, Math.min(...zooms)],
    [101, Math.max(...zooms)],
    ...Object.entries(options.header ?? {}).map(([key, changed]) => [Number(key), changed] as const),
  ] as const)
    header[place] = value;
  writeFileSync(path, Buffer.concat([header, directory, metadata, content]));
  return path;
}

function toVarint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

/** A tile of one colour with a darker border. */
export function drawTile([red, green, blue]: readonly [number, number, number]): Buffer {
  const image = new PNG({ width: 256, height: 256 });
  for (let i = 0; i < 256 * 256; i++) {
    const isBorder = i % 256 < 2 || i < 512;
    const shade = isBorder ? 0.8 : 1;
    image.data.set([red * shade, green * shade, blue * shade, 255], i * 4);
  }
  return PNG.sync.write(image);
}
