/**
 * Raster tiles of a PMTiles file (version 3). Tiles are read here instead of in the browser: its range requests would each
 * need a key, and the file may contain more than maps may show.
 */
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Compression, PMTiles, ResolvedValueCache, type Source, TileType } from "pmtiles";

/** Of directories and of tiles, stored and unpacked. */
const MAX_BYTES = 16 * 2 ** 20;
/** Directories in memory. */
const MAX_DIRECTORIES = 64;

const TYPES: Readonly<Partial<Record<TileType, string>>> = {
  [TileType.Png]: "image/png",
  [TileType.Jpeg]: "image/jpeg",
  [TileType.Webp]: "image/webp",
  [TileType.Avif]: "image/avif",
};

export class TileFile {
  readonly type: string;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** Plain text or HTML, as in the file; null: none. */
  readonly attribution: string | null;
  readonly #handle: FileHandle;
  readonly #tiles: PMTiles;

  private constructor(
    handle: FileHandle,
    tiles: PMTiles,
    facts: Pick<TileFile, "type" | "minZoom" | "maxZoom" | "attribution">,
  ) {
    this.#handle = handle;
    this.#tiles = tiles;
    ({ type: this.type, minZoom: this.minZoom, maxZoom: this.maxZoom, attribution: this.attribution } = facts);
  }

  /** Rejects if it is not a PMTiles file with raster tiles; the message says what was expected. */
  static async open(path: string): Promise<TileFile> {
    const handle = await open(path, "r");
    try {
      const { size } = await handle.stat();
      const source = new FileSource(path, handle, size);
      const begin = Buffer.from((await source.getBytes(0, Math.min(size, 8))).data);
      if (begin.toString("latin1", 0, 7) !== "PMTiles" || begin[7] !== 3)
        throw new Error("it is not a PMTiles file of version 3; pmtiles convert makes one of an .mbtiles file");
      const tiles = new PMTiles(source, new ResolvedValueCache(MAX_DIRECTORIES, true, unpack), unpack);
      const { tileType, minZoom, maxZoom } = await tiles.getHeader();
      const type = TYPES[tileType];
      if (type === undefined)
        throw new Error(
          `it has ${tileType === TileType.Mvt ? "vector tiles" : "tiles of an unknown type"}; expected raster tiles (PNG, JPEG, WebP or AVIF)`,
        );
      const metadata = (await tiles.getMetadata()) as { readonly attribution?: unknown } | null;
      const attribution = typeof metadata?.attribution === "string" ? metadata.attribution : null;
      return new TileFile(handle, tiles, { type, minZoom, maxZoom, attribution });
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Null: the file has no such tile. Rejects if it cannot be read. */
  async read(z: number, x: number, y: number, signal: AbortSignal): Promise<Uint8Array | null> {
    if (z < this.minZoom || z > this.maxZoom) return null;
    const tile = await this.#tiles.getZxy(z, x, y, signal);
    return tile === undefined ? null : new Uint8Array(tile.data);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

class FileSource implements Source {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #size: number;

  constructor(path: string, handle: FileHandle, size: number) {
    this.#path = path;
    this.#handle = handle;
    this.#size = size;
  }

  getKey(): string {
    return this.#path;
  }

  async getBytes(offset: number, length: number): Promise<{ readonly data: ArrayBuffer }> {
    const wanted = Math.min(length, this.#size - offset);
    if (!(offset >= 0 && wanted >= 0 && wanted <= MAX_BYTES))
      throw new Error(`the file is damaged: it refers to ${length} bytes at ${offset}`);
    const data = new ArrayBuffer(wanted);
    const { bytesRead } = await this.#handle.read(new Uint8Array(data), 0, wanted, offset);
    return { data: bytesRead === wanted ? data : data.slice(0, bytesRead) };
  }
}

const inflate = promisify(gunzip);

async function unpack(data: ArrayBuffer, compression: Compression): Promise<ArrayBuffer> {
  if (compression === Compression.None || compression === Compression.Unknown) return data;
  if (compression !== Compression.Gzip) throw new Error("it is compressed with brotli or zstd; expected gzip");
  const { buffer, byteOffset, length } = await inflate(data, { maxOutputLength: MAX_BYTES });
  return buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
}
