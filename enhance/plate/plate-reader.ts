/** Reads the number plate of a vehicle: locates text, keeps plate-shaped regions, and accepts text that is read consistently. */
import { ModelFault } from "../../models/fault.ts";
import { loadOnnxruntime, openSession } from "../../models/onnxruntime.ts";
import { openPlates } from "../../models/plates.ts";
import type { Plate } from "../../schemas/enhancement.ts";
import { type Picture, resize } from "../picture.ts";
import { acceptPlate, isPlateShaped, type Line, readLine } from "./read-line.ts";
import { findTextRegions, type TextRegion } from "./text-regions.ts";

/** Small images are enlarged to this size to locate text: the network misses letters of few pixels. */
const LONGEST_SIDE = 640;
const MOST_ENLARGED = 2;
/** Side lengths must be multiples of this. */
const STEP = 32;
const LINE_HEIGHT = 48;
const MOST_WIDTH = 480;
/**
 * Crops of a line, relative to its height: as located; wider, so that a missed letter makes the readings disagree; and
 * slightly larger at a coarser scale.
 */
const CUTS = [
  { wider: 0, higher: 0, pixels: LINE_HEIGHT },
  { wider: 1.4, higher: 0.1, pixels: LINE_HEIGHT },
  { wider: 0.2, higher: 0.15, pixels: 32 },
] as const;
/** Minimum longer side of an image: a plate is at most a third of a car, and its letters a quarter of that. */
const LEAST_SIDE = 100;
const MOST_READ = 4;

type Run = (planes: Planes) => Promise<{ readonly data: Float32Array; readonly dims: readonly number[] }>;

export class PlateReader {
  readonly #find: Run;
  readonly #read: Run;

  constructor(find: Run, read: Run) {
    this.#find = find;
    this.#read = read;
  }

  /** The most certain plate; null if none can be read. */
  async read(picture: Picture): Promise<Plate | null> {
    if (Math.max(picture.width, picture.height) < LEAST_SIDE) return null;
    const regions = (await this.#findRegions(picture)).filter(isPlateShaped).slice(0, MOST_READ);
    const plates: Plate[] = [];
    for (const region of regions) {
      const plate = await this.#readRegion(picture, region);
      if (plate !== null) plates.push(plate);
    }
    return plates.sort((a, b) => b.confidence - a.confidence)[0] ?? null;
  }

  /** In pixels of the image. */
  async #findRegions(picture: Picture): Promise<readonly TextRegion[]> {
    const longest = Math.max(picture.width, picture.height);
    const scale = Math.min(MOST_ENLARGED, LONGEST_SIDE / longest);
    const sized = resize(picture, toSide(picture.width * scale), toSide(picture.height * scale));
    const { data } = await this.#find(toPlanes(sized, sized.width, sized.height, FINDING));
    const [toX, toY] = [picture.width / sized.width, picture.height / sized.height];
    return findTextRegions(data, sized.width, sized.height).map((region) => ({
      ...region,
      ...{ centreX: region.centreX * toX, centreY: region.centreY * toY },
      ...{ width: region.width * toX, height: region.height * toY },
    }));
  }

  async #readRegion(picture: Picture, region: TextRegion): Promise<Plate | null> {
    const lines: (Line | null)[] = [];
    for (const { wider, higher, pixels } of CUTS) {
      const [width, height] = [region.width + wider * region.height, region.height * (1 + higher)];
      const level = straighten(picture, { ...region, width, height }, pixels, MOST_WIDTH);
      const scaled = resize(level, Math.round((level.width * LINE_HEIGHT) / pixels), LINE_HEIGHT);
      const padded = Math.max(LINE_HEIGHT, Math.ceil(scaled.width / 8) * 8);
      const { data, dims } = await this.#read(toPlanes(scaled, padded, LINE_HEIGHT, READING));
      const line = readLine(data, dims[2] ?? 1);
      // No other reading can agree with this one.
      if (line === null) return null;
      lines.push(line);
    }
    return acceptPlate(lines);
  }
}

const toSide = (pixels: number): number => Math.max(STEP, Math.round(pixels / STEP) * STEP);

/** A text with the reason if the networks are not installed. They are loaded for the first image. */
export async function openPlateReader(): Promise<PlateReader | string> {
  try {
    const { finder, reader } = await openPlates();
    return new PlateReader(openLater(finder), openLater(reader));
  } catch (error) {
    if (error instanceof ModelFault) return error.message;
    throw error;
  }
}

/** Lazy: in most reports no vehicle is close enough for a readable plate. */
function openLater(file: string): Run {
  let opening: Promise<Run> | null = null;
  return async (planes) => {
    opening ??= open(file);
    return (await opening)(planes);
  };
}

async function open(file: string): Promise<Run> {
  const { Tensor: Values } = await loadOnnxruntime();
  const session = await openSession({ onnx: file, isConverted: false, threads: 1, providers: ["cpu"] });
  const [input = "", output = ""] = [session.inputNames[0], session.outputNames[0]];
  return async ({ data, width, height }) => {
    const results = await session.run({ [input]: new Values("float32", data, [1, 3, height, width]) });
    const found = results[output];
    if (found === undefined || !(found.data instanceof Float32Array))
      throw new Error("the network has no float32 output");
    return { data: found.data, dims: found.dims };
  };
}

/** A network input: one plane per channel, blue first, as PP-OCR was trained. */
interface Planes {
  readonly data: Float32Array;
  readonly width: number;
  readonly height: number;
}

interface Scaling {
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
}

const FINDING: Scaling = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
const READING: Scaling = { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] };

/** An image smaller than the planes is padded with 0. */
function toPlanes(picture: Picture, width: number, height: number, { mean, std }: Scaling): Planes {
  const data = new Float32Array(3 * width * height);
  for (let channel = 0; channel < 3; channel++)
    for (let y = 0; y < picture.height; y++)
      for (let x = 0; x < picture.width; x++) {
        const value = picture.rgb[(y * picture.width + x) * 3 + (2 - channel)] as number;
        data[(channel * height + y) * width + x] = (value / 255 - (mean[channel] as number)) / (std[channel] as number);
      }
  return { data, width, height };
}

/** Rotates the region to horizontal and scales it to `height`, with bilinear interpolation; repeats the image's edge. */
function straighten(picture: Picture, region: TextRegion, height: number, mostWidth: number): Picture {
  const scale = region.height / height;
  const width = Math.min(mostWidth, Math.max(1, Math.round(region.width / scale)));
  const [cos, sin] = [Math.cos(region.tiltRad), Math.sin(region.tiltRad)];
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, place = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const u = ((x + 0.5) / width - 0.5) * region.width;
      const v = ((y + 0.5) / height - 0.5) * region.height;
      const [fromX, fromY] = [region.centreX + u * cos - v * sin - 0.5, region.centreY + u * sin + v * cos - 0.5];
      for (let channel = 0; channel < 3; channel++) rgb[place++] = Math.round(mix(picture, fromX, fromY, channel));
    }
  return { width, height, rgb };
}

function mix({ width, height, rgb }: Picture, x: number, y: number, channel: number): number {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, below] = [x - left, y - top];
  const at = (column: number, row: number): number => {
    const place = clamp(row, height) * width + clamp(column, width);
    return rgb[place * 3 + channel] as number;
  };
  const upper = at(left, top) * (1 - right) + at(left + 1, top) * right;
  const lower = at(left, top + 1) * (1 - right) + at(left + 1, top + 1) * right;
  return upper * (1 - below) + lower * below;
}

const clamp = (place: number, count: number): number => Math.min(count - 1, Math.max(0, place));
