/** The map of the console: its settings, and the tiles that the service itself has. */
import type { Static } from "typebox";
import { MapSettings, TileParams } from "../../schemas/api/map.ts";
import type { MapTiles } from "../map/map-tiles.ts";
import type { TerrainTiles } from "../map/terrain-tiles.ts";
import { ServiceError } from "../service-error.ts";
import { type AnswerShape, type AnyEndpoint, defineEndpoints, ok } from "./endpoint.ts";

const define = defineEndpoints("Map");

interface MapDeps {
  readonly tiles: MapTiles | null;
  readonly terrain: Pick<TerrainTiles, "take" | "minZoom" | "maxZoom"> | null;
}

const TILES = "/map/tiles/{z}/{x}/{y}";
const TERRAIN = "/map/terrain/{z}/{x}/{y}";
const answersOf = (what: string, type: string): Readonly<Record<number, AnswerShape>> => ({
  200: { description: what, mediaType: type },
  204: { description: "There is nothing in this area." },
});

export function mapEndpoints({ tiles, terrain }: MapDeps): readonly AnyEndpoint[] {
  return [
    define("GET", "/map", "readMap", {
      summary: "Get the background and the terrain shading of maps",
      sources: "none",
      description: "For the map of the console and your own: raster tiles of Web Mercator with 256 × 256 pixels.",
      answers: { 200: { description: "The settings.", schema: MapSettings } },
      handle: () => ok(describe({ tiles, terrain })),
    }),
    define("GET", TILES, "downloadMapTile", {
      summary: "Get a tile of the background: an image",
      sources: "none",
      description: "If `map.tiles` is a PMTiles file; otherwise 404.",
      params: TileParams,
      answers: answersOf("The tile, in the type of the file.", "image/*"),
      errors: ["tiles_not_found", "storage_unavailable"],
      async handle({ params, signal }) {
        const { z, x, y } = readTile(params);
        if (tiles?.file == null)
          throw new ServiceError("tiles_not_found", { detail: "map.tiles does not name a file on this service" });
        return send(await tiles.read(z, x, y, signal), tiles.file.type);
      },
    }),
    define("GET", TERRAIN, "downloadTerrainTile", {
      summary: "Get a tile of the terrain shading: PNG",
      sources: "none",
      description:
        "Black and white with transparency, lit from the north-west, from the files in `terrain.folder`; without it 404. Tiles are computed one at a time, and those of different keys alternate.",
      params: TileParams,
      answers: answersOf("The shading.", "image/png"),
      errors: ["tiles_not_found", "terrain_unavailable", "rate_limited"],
      async handle({ params, user, signal }) {
        const tile = readTile(params);
        if (terrain === null)
          throw new ServiceError("tiles_not_found", { detail: "terrain.folder is not set, or has no usable files" });
        return send(await terrain.take(tile, { userUuid: user.uuid, signal }), "image/png");
      },
    }),
  ];
}

const describe = ({ tiles, terrain }: MapDeps): MapSettings => ({
  tiles: tiles && {
    ...{ url: tiles.url ?? TILES, min_zoom: tiles.minZoom, max_zoom: tiles.maxZoom, attribution: tiles.attribution },
  },
  terrain: terrain && { url: TERRAIN, min_zoom: terrain.minZoom, max_zoom: terrain.maxZoom },
});

function readTile({ z, x, y }: Static<typeof TileParams>) {
  const tile = { z: Number(z), x: Number(x), y: Number(y) };
  if (Math.max(tile.x, tile.y) < 2 ** tile.z) return tile;
  throw new ServiceError("path_not_found", {
    detail: `Zoom ${z} has columns and rows from 0 to ${2 ** tile.z - 1}.`,
  });
}

function send(tile: Uint8Array | null, type: string): Response {
  const headers = { "Cache-Control": "private, max-age=3600" };
  if (tile === null) return new Response(null, { status: 204, headers });
  return new Response(Buffer.from(tile), {
    headers: { ...headers, "Content-Type": type, "Content-Length": String(tile.length) },
  });
}
