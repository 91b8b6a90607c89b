/**
 * The wall clock as black and white blocks in a picture: readable after any encoder, scaler and decoder, so that what is
 * seen tells when it was drawn. 10 × 4 blocks in the top quarter: 32 bits of milliseconds, 8 bits to check them by.
 */
export const COLUMNS = 10;
export const ROWS = 4;
const STRIP = 4;
const WHITE = 235;
const BLACK = 16;

export interface Picture {
  readonly data: ArrayLike<number>;
  readonly width: number;
  readonly height: number;
  /** Bytes from one pixel to the next, of which the first is looked at: 1 for luma, 4 for RGBA. */
  readonly step: number;
}

const bitsOf = (ms: number): boolean[] => {
  const value = ms % 2 ** 32;
  const bytes = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const check = bytes.reduce((sum, byte) => sum ^ byte, 0x5a);
  return [...bytes, check].flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit) => ((byte >> bit) & 1) === 1));
};

/** Into the luma of a frame. */
export function drawTimeCode(luma: Uint8Array, width: number, height: number, ms: number): void {
  const bits = bitsOf(ms);
  const stripHeight = Math.floor(height / STRIP);
  for (let row = 0; row < ROWS; row++) {
    const top = Math.floor((row * stripHeight) / ROWS);
    const bottom = Math.floor(((row + 1) * stripHeight) / ROWS);
    for (let column = 0; column < COLUMNS; column++) {
      const left = Math.floor((column * width) / COLUMNS);
      const right = Math.floor(((column + 1) * width) / COLUMNS);
      const value = bits[row * COLUMNS + column] ? WHITE : BLACK;
      for (let y = top; y < bottom; y++) luma.fill(value, y * width + left, y * width + right);
    }
  }
}

/**
 * Milliseconds modulo 2³², or null where there is no sound time code. Whole in itself, so that it can be sent to a page.
 */
export function readTimeCode({ data, width, height, step }: Picture): number | null {
  const columns = 10;
  const rows = 4;
  const bytes = [0, 0, 0, 0, 0];
  for (let block = 0; block < columns * rows; block++) {
    const row = Math.floor(block / columns);
    const x = ((block % columns) + 0.5) / columns;
    const y = (row + 0.5) / rows / 4;
    let sum = 0;
    // The middle of the block: its edges are blurred.
    for (const dy of [-0.15, 0, 0.15]) {
      for (const dx of [-0.15, 0, 0.15]) {
        const px = Math.floor((x + dx / columns) * width);
        const py = Math.floor((y + dy / rows / 4) * height);
        sum += data[(py * width + px) * step] ?? 0;
      }
    }
    const mean = sum / 9;
    if (mean > 96 && mean < 160) return null;
    const byte = block >> 3;
    bytes[byte] = ((bytes[byte] ?? 0) << 1) | (mean > 128 ? 1 : 0);
  }
  const [a = 0, b = 0, c = 0, d = 0, check] = bytes;
  if ((a ^ b ^ c ^ d ^ 0x5a) !== check) return null;
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

/** How long before `nowMs` a time code was drawn. */
export const ageMs = (nowMs: number, code: number): number => ((nowMs % 2 ** 32) - code + 2 ** 32) % 2 ** 32;
