/** Messages of the terrain thread. */
import type { Tile } from "../shade.ts";

export interface ShadeSettings {
  readonly folder: string;
}

export type ShadeRequest = Tile;

export interface ShadeAnswer {
  /** Null: no height of the tile is known. */
  readonly png: Uint8Array | null;
}
