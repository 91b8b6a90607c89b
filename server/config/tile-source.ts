/** Where the map of the console gets its tiles from (`map.tiles`). Pure. */

export type TileSource =
  /** `origins`: of all its tiles, for the security policy of the console. */
  | { readonly kind: "url"; readonly url: string; readonly origins: readonly string[] }
  | { readonly kind: "file"; readonly path: string };

/** What `{s}` stands for, as in Leaflet. */
const SUBDOMAINS = ["a", "b", "c"];
const EXPECTED =
  "expected the address of raster tiles with {z}, {x} and {y}, as in https://tiles.example.org/{z}/{x}/{y}.png, or the path of a .pmtiles file";

/** A text says what is wrong with it. */
export function readTileSource(tiles: string): TileSource | string {
  if (!tiles.includes("://"))
    return tiles.endsWith(".pmtiles") ? { kind: "file", path: tiles } : `is "${tiles}"; ${EXPECTED}`;
  const lacks = ["{z}", "{x}", "{y}"].filter((part) => !tiles.includes(part));
  if (lacks.length > 0) return `has no ${lacks.join(" and no ")}; ${EXPECTED}`;
  const unknown = tiles
    .split("{")
    .slice(1)
    .map((part) => part.split("}")[0] ?? "")
    .find((name) => !["z", "x", "y", "s"].includes(name));
  if (unknown !== undefined) return `has {${unknown}}; only {z}, {x}, {y} and {s} (a, b or c) are filled in`;
  const origins = (tiles.includes("{s}") ? SUBDOMAINS : [""]).map((letter) => originOf(tiles, letter));
  if (origins.includes(null)) return `is not a valid address of http or https without credentials; ${EXPECTED}`;
  return { kind: "url", url: tiles, origins: [...new Set(origins as string[])] };
}

/** Null if it is not an address, or its host depends on the tile. */
function originOf(tiles: string, letter: string): string | null {
  const fill = (number: string): URL | null => {
    const text = tiles.replaceAll("{s}", letter).replaceAll(/\{[xyz]\}/g, number);
    return URL.canParse(text) ? new URL(text) : null;
  };
  const [first, second] = [fill("1"), fill("2")];
  if (first === null || first.origin !== second?.origin || !/^https?:$/.test(first.protocol)) return null;
  return first.username + first.password === "" ? first.origin : null;
}
