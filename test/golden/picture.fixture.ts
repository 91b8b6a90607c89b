/**
 * An RGB image with antialiased shapes, and drawings that a detector trained on photographs recognises. Uses only
 * additions, multiplications and comparisons of doubles, so that every machine draws the same bytes.
 */
export type Colour = readonly [red: number, green: number, blue: number];
export type Point = readonly [x: number, y: number];
export type Outline = readonly Point[];

/** Samples per pixel and axis. */
const FINE = 4;
const FULL = FINE * FINE;

export class Picture {
  readonly width: number;
  readonly height: number;
  /** Three bytes per pixel, row by row. */
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
      cover.fill(0, left, right);
      for (let sample = 0; sample < FINE; sample++) this.#coverRow(outline, y + (sample + 0.5) / FINE, cover);
      for (let x = left; x < right; x++) {
        const share = ((cover[x] as number) / FULL) * opacity;
        if (share > 0) this.#blend(y * this.width + x, colour, share);
      }
    }
  }

  /** Adds the number of samples of each pixel that are inside the outline, on the line at `y`. */
  #coverRow(outline: Outline, y: number, cover: Uint8Array): void {
    const crossings: number[] = [];
    let before = outline.at(-1) as Point;
    for (const point of outline) {
      const [y1, y2] = [before[1], point[1]];
      if (y1 <= y !== y2 <= y) crossings.push(before[0] + ((y - y1) / (y2 - y1)) * (point[0] - before[0]));
      before = point;
    }
    crossings.sort((a, b) => a - b);
    for (let pair = 0; pair + 1 < crossings.length; pair += 2) {
      const from = Math.max(0, Math.ceil((crossings[pair] as number) * FINE - 0.5));
      const to = Math.min(this.width * FINE, Math.ceil((crossings[pair + 1] as number) * FINE - 0.5));
      // Pixel by pixel, not sample by sample: tests paint hundreds of frames.
      for (let sample = from; sample < to; ) {
        const x = Math.floor(sample / FINE);
        const next = Math.min(to, (x + 1) * FINE);
        cover[x] = (cover[x] as number) + next - sample;
        sample = next;
      }
    }
  }

  #blend(pixel: number, colour: Colour, share: number): void {
    for (let channel = 0; channel < 3; channel++) {
      const at = pixel * 3 + channel;
      const before = this.rgb[at] as number;
      this.rgb[at] = Math.round(before + ((colour[channel] as number) - before) * share);
    }
  }
}

/** Range of pixels that these coordinates touch; the end is exclusive. */
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

/** A regular polygon, with many corners a circle; `turn` is a fraction of a full turn. */
export function ring(cx: number, cy: number, radius: number, corners: number, turn = 0): Outline {
  return Array.from({ length: corners }, (_, corner) => {
    const angle = (corner / corners + turn) * 2 * Math.PI;
    return [cx + radius * Math.cos(angle), cy + radius * Math.sin(angle)] as const;
  });
}

/** A line with butt ends. */
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

const ROUND = 48;
const WHITE: Colour = [238, 238, 232];
const BLACK: Colour = [24, 24, 26];

/** Letters as strokes on a grid of 4 by 6. */
const LETTERS: Readonly<Record<string, readonly (readonly Point[])[]>> = {
  S: [
    [
      [4, 0.6],
      [3, 0],
      [1, 0],
      [0, 1],
      [0, 2],
      [1, 3],
      [3, 3],
      [4, 4],
      [4, 5],
      [3, 6],
      [1, 6],
      [0, 5.4],
    ],
  ],
  T: [
    [
      [0, 0],
      [4, 0],
    ],
    [
      [2, 0],
      [2, 6],
    ],
  ],
  O: [
    [
      [1, 0],
      [3, 0],
      [4, 1],
      [4, 5],
      [3, 6],
      [1, 6],
      [0, 5],
      [0, 1],
      [1, 0],
    ],
  ],
  P: [
    [
      [0, 6],
      [0, 0],
      [3, 0],
      [4, 1],
      [4, 2],
      [3, 3],
      [0, 3],
    ],
  ],
};

function write(picture: Picture, word: string, cx: number, cy: number, height: number, colour: Colour): void {
  const unit = height / 6;
  const left = cx - (word.length * 5.4 - 1.4) * unit * 0.5;
  for (const [index, letter] of [...word].entries())
    for (const line of LETTERS[letter] ?? [])
      for (const [at, [x, y]] of line.slice(1).entries()) {
        const [px, py] = line[at] ?? [x, y];
        const place = (gx: number, gy: number): Point => [left + (index * 5.4 + gx) * unit, cy + (gy - 3) * unit];
        picture.fill(stroke(place(px, py), place(x, y), unit * 1.15), colour);
        picture.fill(ring(...place(x, y), unit * 0.57, 12), colour);
      }
}

export function drawStopSign(picture: Picture, cx: number, cy: number, radius: number): void {
  picture.fill(box(cx - radius * 0.07, cy, radius * 0.14, radius * 4.2), [118, 120, 122]);
  picture.fill(ring(cx, cy, radius, 8, 1 / 16), WHITE);
  picture.fill(ring(cx, cy, radius * 0.92, 8, 1 / 16), [190, 22, 30]);
  write(picture, "STOP", cx, cy, radius * 0.62, WHITE);
}

export function drawClock(picture: Picture, cx: number, cy: number, radius: number): void {
  picture.fill(ring(cx, cy, radius, ROUND), BLACK);
  picture.fill(ring(cx, cy, radius * 0.88, ROUND), WHITE);
  for (let hour = 0; hour < 12; hour++) {
    const [outer = [0, 0]] = ring(cx, cy, radius * 0.82, 12, hour / 12);
    const [inner = [0, 0]] = ring(cx, cy, radius * (hour % 3 === 0 ? 0.62 : 0.7), 12, hour / 12);
    picture.fill(stroke(inner, outer, radius * 0.07), BLACK);
  }
  picture.fill(stroke([cx, cy], [cx + radius * 0.34, cy - radius * 0.3], radius * 0.09), BLACK);
  picture.fill(stroke([cx, cy], [cx - radius * 0.28, cy - radius * 0.6], radius * 0.06), BLACK);
  picture.fill(ring(cx, cy, radius * 0.07, ROUND), BLACK);
}

const scaled = (points: Outline, x: number, y: number, unit: number, flip: number): Outline =>
  points.map(([px, py]) => [x + px * unit * flip, y + py * unit] as const);

/** Side view of a car, `length` pixels long, with its wheels at `ground`; `flip` -1 faces left. */
export function drawCar(
  picture: Picture,
  cx: number,
  ground: number,
  length: number,
  paint: Colour,
  flip: 1 | -1 = 1,
): void {
  const unit = length / 100;
  const put = (points: Outline, colour: Colour, opacity = 1) =>
    picture.fill(scaled(points, cx, ground, unit, flip), colour, opacity);
  put(
    [
      [-50, -3],
      [52, -3],
      [44, 1],
      [-44, 1],
    ],
    [20, 20, 22],
    0.5,
  );
  put(
    [
      [-50, -6],
      [-50, -18],
      [-46, -22],
      [-38, -24],
      [-24, -36],
      [-18, -38],
      [10, -38],
      [16, -36],
      [30, -25],
      [44, -22],
      [49, -18],
      [50, -6],
    ],
    paint,
  );
  put(
    [
      [-33, -24],
      [-21, -34.5],
      [-4, -35.5],
      [-4, -24],
    ],
    [44, 54, 64],
  );
  put(
    [
      [-1, -24],
      [-1, -35.5],
      [11, -35.5],
      [25, -24],
    ],
    [44, 54, 64],
  );
  put(
    [
      [-30, -25],
      [-22, -32],
      [-17, -32.5],
      [-25, -25],
    ],
    [126, 142, 156],
  );
  put(box(-50, -11, 100, 2), [30, 30, 32], 0.5);
  put(box(3, -20, 7, 1.6), [40, 40, 42]);
  put(box(-25, -20, 7, 1.6), [40, 40, 42]);
  put(box(45, -19, 4.5, 4), [250, 240, 200]);
  put(box(-50, -19, 4, 4), [200, 30, 30]);
  for (const wheel of [-31, 30]) {
    put(ring(wheel, -8, 10.5, ROUND), [26, 26, 28]);
    put(ring(wheel, -8, 9, ROUND), BLACK);
    put(ring(wheel, -8, 5.5, ROUND), [168, 170, 174]);
    for (let spoke = 0; spoke < 5; spoke++) {
      const [end = [0, 0]] = ring(wheel, -8, 5, 5, spoke / 5);
      put(stroke([wheel, -8], end, 1.2), [90, 92, 96]);
    }
    put(ring(wheel, -8, 1.2, ROUND), [70, 72, 76]);
  }
}
