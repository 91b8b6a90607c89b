/** The background of the map (`map.tiles`): an address that browsers load tiles from, or a file that this service reads. */
import type { Config } from "../../schemas/config.ts";
import { readTileSource } from "../config/tile-source.ts";
import { ServiceError } from "../service-error.ts";
import { StartFault } from "../start-fault.ts";
import { TileFile } from "./tile-file.ts";

export interface MapTiles {
  /** Template of another host; null: tiles are read from `file`. */
  readonly url: string | null;
  readonly file: Pick<TileFile, "type"> | null;
  readonly minZoom: number;
  readonly maxZoom: number;
  readonly attribution: string;
  /** That browsers load tiles from. */
  readonly origins: readonly string[];
  /** Rejects with `storage_unavailable`. */
  read(z: number, x: number, y: number, signal: AbortSignal): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

/** Null: there is none. Rejects with `StartFault`. */
export async function openMapTiles({ tiles, attribution, max_zoom }: Config["map"]): Promise<MapTiles | null> {
  const source = tiles === null ? null : readTileSource(tiles);
  if (source === null) return null;
  if (typeof source === "string") throw new StartFault(`map.tiles ${source}`);
  if (source.kind === "url") {
    const { url, origins } = source;
    const nothing = async () => null;
    return {
      url,
      origins,
      file: null,
      minZoom: 0,
      maxZoom: max_zoom,
      attribution,
      read: nothing,
      close: async () => {},
    };
  }
  const file = await TileFile.open(source.path).catch((cause: Error) => {
    throw new StartFault(`The map cannot be read (map.tiles): ${source.path}: ${cause.message}`, { cause });
  });
  const { minZoom, maxZoom } = file;
  return {
    ...{ url: null, file, minZoom, maxZoom, origins: [] },
    attribution: attribution === "" ? (file.attribution ?? "") : attribution,
    read: (z, x, y, signal) =>
      file.read(z, x, y, signal).catch((cause: Error) => {
        throw new ServiceError("storage_unavailable", { detail: "The file of the map cannot be read.", cause });
      }),
    close: () => file.close(),
  };
}
