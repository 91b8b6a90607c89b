/** Shaded tiles of the operator's terrain, made in a thread: one at a time, keys alternate, the last ones are kept. */
import { MIN_SHADED_ZOOM, shadedZoom, type Tile } from "../../terrain/shade.ts";
import type { ShadeAnswer, ShadeRequest, ShadeSettings } from "../../terrain/worker/messages.ts";
import { ByteCache } from "../async/byte-cache.ts";
import { FairThread, ThreadAbandoned, ThreadQueueFull, ThreadTimeout } from "../async/fair-thread.ts";
import { ServiceError } from "../service-error.ts";

const ENTRY = new URL("../../terrain/worker/worker.mjs", import.meta.url);

const LIMITS = {
  answerMs: 10_000,
  loadMs: 60_000,
  queued: 512,
  /** A browser asks for six at once. */
  queuedPerKey: 32,
  bytes: 256 * 2 ** 20,
  /** Then the thread ends, with the heights in its memory. */
  idleMs: 60_000,
};
const CACHE_BYTES = 32 * 2 ** 20;
/** Stored in place of a tile without heights. */
const NOTHING = new Uint8Array(0);

interface TileClient {
  readonly userUuid: string;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export class TerrainTiles {
  readonly minZoom = MIN_SHADED_ZOOM;
  readonly maxZoom: number;
  readonly #thread: FairThread<ShadeRequest, ShadeAnswer>;
  readonly #cache = new ByteCache(CACHE_BYTES);

  /** @param spacingM between the samples of the finest file */
  constructor(folder: string, spacingM: number, limits: Partial<typeof LIMITS> = {}) {
    this.maxZoom = shadedZoom(spacingM);
    const workerData: ShadeSettings = { folder };
    this.#thread = new FairThread({ entry: ENTRY, name: "the terrain", workerData }, { ...LIMITS, ...limits });
  }

  /** A PNG; null: no height of the tile is known. Rejects with `rate_limited` or `terrain_unavailable`. */
  async take({ z, x, y }: Tile, { userUuid, signal }: TileClient): Promise<Uint8Array | null> {
    if (z < this.minZoom || z > this.maxZoom) return null;
    const key = `${z}/${x}/${y}`;
    const tile = this.#cache.find(key) ?? (await this.#make({ z, x, y }, { userUuid, signal }));
    this.#cache.add(key, tile);
    return tile.length === 0 ? null : tile;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #make(tile: Tile, { userUuid, signal }: TileClient): Promise<Uint8Array> {
    try {
      return (await this.#thread.ask(tile, { key: userUuid, signal })).png ?? NOTHING;
    } catch (error) {
      if (error instanceof ThreadAbandoned)
        throw new ServiceError("malformed_request", { detail: "the connection closed before the tile was made" });
      if (error instanceof ThreadQueueFull)
        throw new ServiceError("rate_limited", { detail: `${error.message}: try again.`, retryAfterSeconds: 1 });
      const detail =
        error instanceof ThreadTimeout
          ? "The heights of this tile could not be read in time: convert the files to tiled GeoTIFF."
          : "The terrain cannot be read; the log of the service says why.";
      throw new ServiceError("terrain_unavailable", { detail, cause: error });
    }
  }
}
