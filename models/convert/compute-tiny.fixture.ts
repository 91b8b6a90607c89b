/** Reference computation of the tiny detector: pixel by pixel, channels last, in doubles. */
import type { Convolution, Scale, TinyDetector } from "./tiny-detector.fixture.ts";

interface Map3 {
  readonly down: number;
  readonly across: number;
  readonly channels: number;
  readonly values: readonly number[];
}

export interface Pair {
  readonly score: number;
  readonly class: number;
  /** Left, top, right, bottom in pixels. */
  readonly box: readonly number[];
}

/** All pairs of anchor and class. `pixels`: RGB bytes, row by row. */
export function computeTiny(tiny: TinyDetector, pixels: Uint8Array, down: number, across: number): Pair[] {
  const picture: Map3 = { down, across, channels: 3, values: Array.from(pixels, (value) => value - 128) };
  const fine = convolve(convolve(picture, tiny.stem), tiny.fine);
  const coarse = halve(fine);
  const sum = addEnlarged(fine, coarse, tiny.fine.to, tiny.sum);
  return [sum, coarse].flatMap((level, i) => {
    const logits = convolve(level, tiny.classes[i as 0 | 1]);
    const deltas = convolve(level, tiny.boxes[i as 0 | 1]);
    return readPairs(tiny, i, logits, deltas, down, across);
  });
}

function convolve(map: Map3, layer: Convolution): Map3 {
  const [outputs, kernelDown, kernelAcross, last] = layer.shape;
  const channels = layer.depthwise ? last : outputs;
  const [down, across] = [Math.ceil(map.down / layer.stride), Math.ceil(map.across / layer.stride)];
  const before = (size: number, count: number, kernel: number) =>
    Math.floor(Math.max(0, (count - 1) * layer.stride + kernel - size) / 2);
  const [above, left] = [before(map.down, down, kernelDown), before(map.across, across, kernelAcross)];
  const values: number[] = [];
  for (let y = 0; y < down; y++)
    for (let x = 0; x < across; x++)
      for (let o = 0; o < channels; o++) {
        let sum = layer.bias[o] ?? 0;
        for (let ky = 0; ky < kernelDown; ky++)
          for (let kx = 0; kx < kernelAcross; kx++)
            for (let c = layer.depthwise ? o : 0; c <= (layer.depthwise ? o : map.channels - 1); c++) {
              const stored = at(map, y * layer.stride + ky - above, x * layer.stride + kx - left, c);
              const weight = layer.depthwise
                ? layer.weights[(ky * kernelAcross + kx) * channels + o]
                : layer.weights[((o * kernelDown + ky) * kernelAcross + kx) * last + c];
              sum += stored === null ? 0 : (stored - layer.from.zero) * (weight ?? 0);
            }
        values.push(store(sum * layer.from.scale * (layer.weightScales[o] ?? 0), layer.to, layer.relu6));
      }
  return { down, across, channels, values };
}

/** Max pooling of 3×3 with stride 2. */
function halve(map: Map3): Map3 {
  const [down, across] = [Math.ceil(map.down / 2), Math.ceil(map.across / 2)];
  const above = Math.floor(((down - 1) * 2 + 3 - map.down) / 2);
  const left = Math.floor(((across - 1) * 2 + 3 - map.across) / 2);
  const values: number[] = [];
  for (let y = 0; y < down; y++)
    for (let x = 0; x < across; x++)
      for (let c = 0; c < map.channels; c++) {
        const seen = [0, 1, 2].flatMap((ky) =>
          [0, 1, 2].map((kx) => at(map, y * 2 + ky - above, x * 2 + kx - left, c) ?? -128),
        );
        values.push(Math.max(...seen));
      }
  return { down, across, channels: map.channels, values };
}

function addEnlarged(fine: Map3, coarse: Map3, from: Scale, to: Scale): Map3 {
  const values = fine.values.map((value, i) => {
    const pixel = Math.floor(i / fine.channels);
    const y = Math.floor((Math.floor(pixel / fine.across) * coarse.down) / fine.down);
    const x = Math.floor(((pixel % fine.across) * coarse.across) / fine.across);
    const other = at(coarse, y, x, i % fine.channels) ?? 0;
    return store((value - from.zero + other - from.zero) * from.scale, to, true);
  });
  return { ...fine, values };
}

function readPairs(
  tiny: TinyDetector,
  level: number,
  logits: Map3,
  deltas: Map3,
  imageDown: number,
  imageAcross: number,
): Pair[] {
  const [logitScale, deltaScale] = [tiny.classes[0].to, tiny.boxes[0].to];
  const sizes = tiny.anchorSizes[level] ?? [];
  const pairs: Pair[] = [];
  for (let y = 0; y < logits.down; y++)
    for (let x = 0; x < logits.across; x++)
      sizes.forEach(([width, height], a) => {
        const delta = (i: number) => ((at(deltas, y, x, a * 4 + i) ?? 0) - deltaScale.zero) * deltaScale.scale;
        const centreY = ((y + 0.5) * imageDown) / logits.down + delta(0) * height;
        const centreX = ((x + 0.5) * imageAcross) / logits.across + delta(1) * width;
        const [halfDown, halfAcross] = [(Math.exp(delta(2)) * height) / 2, (Math.exp(delta(3)) * width) / 2];
        const box = [centreX - halfAcross, centreY - halfDown, centreX + halfAcross, centreY + halfDown];
        for (let c = 0; c < tiny.classCount; c++) {
          const stored = at(logits, y, x, a * tiny.classCount + c) ?? 0;
          pairs.push({ score: 1 / (1 + Math.exp((logitScale.zero - stored) * logitScale.scale)), class: c, box });
        }
      });
  return pairs;
}

function at(map: Map3, y: number, x: number, channel: number): number | null {
  if (y < 0 || x < 0 || y >= map.down || x >= map.across) return null;
  return map.values[(y * map.across + x) * map.channels + channel] ?? null;
}

function store(value: number, { scale, zero }: Scale, relu6: boolean): number {
  const limited = relu6 ? Math.min(6, Math.max(0, value)) : value;
  return Math.min(127, Math.max(-128, Math.round(limited / scale) + zero));
}
