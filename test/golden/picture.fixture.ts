/**
 * A picture in RGB and shapes filled into it with soft edges. Nothing but additions, multiplications and comparisons of
 * doubles decides about a pixel, so that every machine paints the same bytes.
 */
export type Colour = readonly [red: number, green: number, blue: number];
export type Point = readonly [x: number, y: number];
export type Outline = readonly Point[];

/** Samples a pixel and axis. */
const FINE = 4;
const FULL = FINE * FINE;

export class Picture {
  readonly width: number;
  readonly height: number;
  /** Three bytes a pixel, row by row. */
  readonly rgb: Uint8Array;

  constructor(width: number, height: number, rgb = new Uint8Array(width * height * 3)) {
    this.width = width;
    this.height = height;
    this.rgb = rgb;
  }

  copy(): Picture {
    return new Picture(this.width, this.height, this.rgb.slice());
  }

  fill(outline: Outline, colour: Colour, opacity = 1): void {
    const [left, right] = span(
      outline.map(([x]) => x),
      this.width,
    );
    const [top, bottom] = span(
      outline.map(([, y]) => y),
      this.height,
    );
    const cover = new Uint8Array(this.width);
    for (let y = top; y < bottom; y++) {
      cover.fill(0);
      for (let sample = 0; sample < FINE; sample++) this.#coverRow(outline, y + (sample + 0.5) / FINE, cover);
      for (let x = left; x < right; x++) {
        const share = ((cover[x] ?? 0) / FULL) * opacity;
        if (share > 0) this.#blend(y * this.width + x, colour, share);
      }
    }
  }

  /** Adds to `cover` how many samples of each pixel lie inside, on the line at `y`. */
  #coverRow(outline: Outline, y: number, cover: Uint8Array): void {
    const crossings: number[] = [];
    for (const [index, [x1, y1]] of outline.entries()) {
      const [x2, y2] = outline[(index + 1) % outline.length] ?? [x1, y1];
      if (y1 <= y !== y2 <= y) crossings.push(x1 + ((y - y1) / (y2 - y1)) * (x2 - x1));
    }
    crossings.sort((a, b) => a - b);
    for (let pair = 0; pair + 1 < crossings.length; pair += 2) {
      const from = Math.max(0, Math.ceil((crossings[pair] ?? 0) * FINE - 0.5));
      const to = Math.min(this.width * FINE, Math.ceil((crossings[pair + 1] ?? 0) * FINE - 0.5));
      for (let sample = from; sample < to; sample++) {
        const x = Math.floor(sample / FINE);
        cover[x] = (cover[x] ?? 0) + 1;
      }
    }
  }

  #blend(pixel: number, colour: Colour, share: number): void {
    for (let channel = 0; channel < 3; channel++) {
      const at = pixel * 3 + channel;
      const before = this.rgb[at] ?? 0;
      this.rgb[at] = Math.round(before + ((colour[channel] ?? 0) - before) * share);
    }
  }
}

/** Whole pixels that these places touch, from the first to the one behind the last. */
const span = (places: readonly number[], size: number): readonly [number, number] => [
  Math.max(0, Math.floor(Math.min(...places))),
  Math.min(size, Math.ceil(Math.max(...places))),
];

export const box = (x: number, y: number, width: number, height: number): Outline => [
  [x, y],
  [x + width, y],
  [x + width, y + height],
  [x, y + height],
];

/** With many corners a circle; `turn` is in parts of a full turn. */
export function ring(cx: number, cy: number, radius: number, corners: number, turn = 0): Outline {
  return Array.from({ length: corners }, (_, corner) => {
    const angle = (corner / corners + turn) * 2 * Math.PI;
    return [cx + radius * Math.cos(angle), cy + radius * Math.sin(angle)] as const;
  });
}

/** A line as thick as that, ends cut straight. */
export function stroke([x1, y1]: Point, [x2, y2]: Point, thickness: number): Outline {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const dx = (((y2 - y1) / length) * thickness) / 2;
  const dy = (((x2 - x1) / length) * thickness) / 2;
  return [
    [x1 + dx, y1 - dy],
    [x2 + dx, y2 - dy],
    [x2 - dx, y2 + dy],
    [x1 - dx, y1 + dy],
  ];
}
