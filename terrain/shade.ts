/** Terrain shading as map tiles (Web Mercator, `z/x/y`): light from the north-west, as on printed maps. Pure. */

/** Pixels of a side. */
export const TILE_PIXELS = 256;
/** Below this zoom a tile would read many files. */
export const MIN_SHADED_ZOOM = 9;
const MAX_SHADED_ZOOM = 17;

export interface Tile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

interface Heights {
  /** Metres; NaN: unknown. */
  heightAt(latitude: number, longitude: number): number;
}

/** Metres of a pixel at zoom 0 on the equator. */
const PIXEL_M = 156_543.034;
/** Of the light: from the north-west, 45 degrees above the horizon. */
const LIGHT = Math.SQRT1_2;
/** Slopes are shown steeper than they are. */
const EXAGGERATION = 1.6;
/** Opacity of the darkest and of the lightest pixel. */
const DARK = 150;
const BRIGHT = 90;

/** The zoom at which a pixel is about as large as the distance of the samples: larger ones only show facets. */
export const shadedZoom = (spacingM: number): number =>
  Math.min(MAX_SHADED_ZOOM, Math.max(MIN_SHADED_ZOOM, Math.ceil(Math.log2(PIXEL_M / Math.max(spacingM, 0.1)))));

/** RGBA: black or white, more opaque where it is darker or brighter than level ground. Null: no height is known. */
export function shadeTile(heights: Heights, tile: Tile): Uint8Array | null {
  const side = TILE_PIXELS + 2;
  const { values, isKnown } = sample(heights, tile, side);
  if (!isKnown) return null;
  const pixels = new Uint8Array(TILE_PIXELS * TILE_PIXELS * 4);
  for (let row = 0; row < TILE_PIXELS; row++) {
    const latitude = latitudeOf(tile, row + 0.5);
    const reachM = (2 * PIXEL_M * Math.cos((latitude * Math.PI) / 180)) / 2 ** tile.z / EXAGGERATION;
    for (let column = 0; column < TILE_PIXELS; column++) {
      const at = (row + 1) * side + column + 1;
      const east = ((values[at + 1] as number) - (values[at - 1] as number)) / reachM;
      const north = ((values[at - side] as number) - (values[at + side] as number)) / reachM;
      paint(pixels, (row * TILE_PIXELS + column) * 4, shade(east, north));
    }
  }
  return pixels;
}

/** Heights at the middles of the pixels, and of one more around them. */
function sample(
  heights: Heights,
  tile: Tile,
  side: number,
): { readonly values: Float32Array; readonly isKnown: boolean } {
  const values = new Float32Array(side * side);
  let isKnown = false;
  for (let row = 0; row < side; row++) {
    const latitude = latitudeOf(tile, row - 0.5);
    for (let column = 0; column < side; column++) {
      const height = heights.heightAt(latitude, longitudeOf(tile, column - 0.5));
      values[row * side + column] = height;
      isKnown ||= !Number.isNaN(height);
    }
  }
  return { values, isKnown };
}

const longitudeOf = ({ z, x }: Tile, pixel: number): number => ((x + pixel / TILE_PIXELS) / 2 ** z) * 360 - 180;

const latitudeOf = ({ z, y }: Tile, pixel: number): number =>
  (Math.atan(Math.sinh(Math.PI * (1 - (2 * (y + pixel / TILE_PIXELS)) / 2 ** z))) * 180) / Math.PI;

/** Brightness of a slope, from -1 (black) over 0 (as level ground) to 1 (white); NaN: unknown. */
function shade(east: number, north: number): number {
  // The light comes from (-1, 1, √2) / 2; the normal of the ground is (-east, -north, 1).
  const lit = ((east - north) / 2 + LIGHT) / Math.sqrt(1 + east * east + north * north);
  return lit < LIGHT ? Math.max(0, lit) / LIGHT - 1 : (lit - LIGHT) / (1 - LIGHT);
}

function paint(pixels: Uint8Array, at: number, brightness: number): void {
  if (Number.isNaN(brightness)) return;
  const colour = brightness < 0 ? 0 : 255;
  pixels.fill(colour, at, at + 3);
  pixels[at + 3] = Math.round(Math.abs(brightness) * (brightness < 0 ? DARK : BRIGHT));
}
