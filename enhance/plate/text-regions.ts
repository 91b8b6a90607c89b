/** Locates lines of text in the probability map of the network. Pure. */

/** A tilted rectangle, in pixels of the map. */
export interface TextRegion {
  readonly centreX: number;
  readonly centreY: number;
  readonly width: number;
  readonly height: number;
  /** Angle of its longer side to the horizontal, clockwise. */
  readonly tiltRad: number;
  /** Mean probability inside, from 0 to 1. */
  readonly score: number;
}

const TEXT = 0.3;
const LEAST_SCORE = 0.5;
const LEAST_PIXELS = 24;
const MOST_TILT_RAD = 0.45;
const MOST_REGIONS = 12;
/** The network marks the core of each line: the line is larger by this factor of area over perimeter, as in training. */
const UNCLIP = 1.6;

/** Limits for groups of one line, relative to their height. */
const SAME_LINE = { gap: 1.1, offset: 0.35, height: 1.5, tiltRad: 0.15 };

/** Highest score first. */
export function findTextRegions(map: Float32Array, width: number, height: number): readonly TextRegion[] {
  const seen = new Uint8Array(map.length);
  const regions: TextRegion[] = [];
  for (let start = 0; start < map.length; start++) {
    if (seen[start] === 1 || (map[start] as number) < TEXT) continue;
    const pixels = flood(map, width, height, start, seen);
    const region = pixels.length < LEAST_PIXELS ? null : outline(map, width, pixels);
    if (region !== null && region.score >= LEAST_SCORE && Math.abs(region.tiltRad) <= MOST_TILT_RAD)
      regions.push(region);
  }
  return joinLines(regions)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_REGIONS);
}

/** The groups of letters on a plate are located separately: without joining, half a plate would be read as a whole one. */
function joinLines(regions: readonly TextRegion[]): TextRegion[] {
  const left = [...regions].sort((a, b) => a.centreX - b.centreX);
  const joined: TextRegion[] = [];
  for (let line = left.shift(); line !== undefined; line = left.shift()) {
    for (;;) {
      const next = left.findIndex((other) => isSameLine(line as TextRegion, other));
      if (next < 0) break;
      line = join(line, left.splice(next, 1)[0] as TextRegion);
    }
    joined.push(line);
  }
  return joined;
}

function isSameLine(line: TextRegion, other: TextRegion): boolean {
  const height = Math.max(line.height, other.height);
  const tiltRad = line.width > other.width ? line.tiltRad : other.tiltRad;
  const [dx, dy] = [other.centreX - line.centreX, other.centreY - line.centreY];
  const along = Math.abs(dx * Math.cos(tiltRad) + dy * Math.sin(tiltRad));
  const across = Math.abs(-dx * Math.sin(tiltRad) + dy * Math.cos(tiltRad));
  return (
    along - (line.width + other.width) / 2 < height * SAME_LINE.gap &&
    across < height * SAME_LINE.offset &&
    height < Math.min(line.height, other.height) * SAME_LINE.height &&
    // The tilt of a single letter is meaningless.
    (Math.min(line.width / line.height, other.width / other.height) < 2 ||
      Math.abs(line.tiltRad - other.tiltRad) < SAME_LINE.tiltRad)
  );
}

/** With the tilt of the longer one. */
function join(line: TextRegion, other: TextRegion): TextRegion {
  const [longer, shorter] = line.width > other.width ? [line, other] : [other, line];
  const [cos, sin] = [Math.cos(longer.tiltRad), Math.sin(longer.tiltRad)];
  const [dx, dy] = [shorter.centreX - longer.centreX, shorter.centreY - longer.centreY];
  const along = dx * cos + dy * sin;
  const first = Math.min(-longer.width / 2, along - shorter.width / 2);
  const last = Math.max(longer.width / 2, along + shorter.width / 2);
  const middle = (first + last) / 2;
  return {
    ...longer,
    centreX: longer.centreX + middle * cos,
    centreY: longer.centreY + middle * sin,
    width: last - first,
    height: Math.max(longer.height, shorter.height),
    score: Math.min(longer.score, shorter.score),
  };
}

function flood(map: Float32Array, width: number, height: number, start: number, seen: Uint8Array): readonly number[] {
  const pixels = [start];
  seen[start] = 1;
  for (let next = 0; next < pixels.length; next++) {
    const place = pixels[next] as number;
    const x = place % width;
    const y = Math.floor(place / width);
    const around = [x > 0 ? place - 1 : -1, x < width - 1 ? place + 1 : -1, y > 0 ? place - width : -1];
    for (const other of [...around, y < height - 1 ? place + width : -1])
      if (other >= 0 && seen[other] === 0 && (map[other] as number) >= TEXT) {
        seen[other] = 1;
        pixels.push(other);
      }
  }
  return pixels;
}

/** The rectangle along the principal axes of the pixels. */
function outline(map: Float32Array, width: number, pixels: readonly number[]): TextRegion {
  const points = pixels.map((place) => [(place % width) + 0.5, Math.floor(place / width) + 0.5] as const);
  const [meanX, meanY] = [0, 1].map(
    (i) => points.reduce((sum, point) => sum + (point[i] as number), 0) / points.length,
  ) as [number, number];
  let [xx, xy, yy] = [0, 0, 0];
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2;
    xy += (x - meanX) * (y - meanY);
    yy += (y - meanY) ** 2;
  }
  const tiltRad = 0.5 * Math.atan2(2 * xy, xx - yy);
  const [cos, sin] = [Math.cos(tiltRad), Math.sin(tiltRad)];
  const along = points.map(([x, y]) => (x - meanX) * cos + (y - meanY) * sin);
  const across = points.map(([x, y]) => -(x - meanX) * sin + (y - meanY) * cos);
  const [u, v] = [spanOf(along), spanOf(across)];
  const grown = ((u.length * v.length) / (2 * (u.length + v.length))) * UNCLIP;
  return {
    centreX: meanX + u.middle * cos - v.middle * sin,
    centreY: meanY + u.middle * sin + v.middle * cos,
    width: u.length + 2 * grown,
    height: v.length + 2 * grown,
    tiltRad,
    score: pixels.reduce((sum, place) => sum + (map[place] as number), 0) / pixels.length,
  };
}

function spanOf(values: readonly number[]): { readonly middle: number; readonly length: number } {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return { middle: (least + most) / 2, length: most - least + 1 };
}
