/** What to detect and where: thresholds, classes and regions, from the properties and the model card. */
import type { Model } from "../../models/open.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { TensorOrder } from "../element.ts";

export interface RequestProperties {
  readonly confidence: number | null;
  readonly weak: number | null;
  readonly overlap: number | null;
  readonly classes: readonly string[];
  readonly roi?: Region;
  readonly tiles?: Tiles | "motion";
}

export interface DetectRequest {
  /** One inference each. */
  readonly regions: readonly Region[];
  /** Only of those in which something has changed. */
  readonly onlyMoving: boolean;
  /** Covers all regions. */
  readonly within: Region;
  readonly filter: DetectionFilter;
}

export interface DetectionFilter {
  readonly confidence: number;
  readonly weak: number;
  readonly overlap: number;
  /** The lower of the two thresholds. */
  readonly minimum: number;
  /** Null: all classes. */
  readonly classIds: ReadonlySet<number> | null;
}

/** In fractions of the frame. */
export type Region = NonNullable<TensorOrder["region"]>;

interface Tiles {
  readonly columns: number;
  readonly rows: number;
  /** Fraction of a tile shared with its neighbour; default 0.2. */
  readonly overlap?: number;
  /** Also the whole frame, for objects larger than a tile; default true. */
  readonly whole?: boolean;
  /** Only tiles in which something has changed; default false. */
  readonly motion?: boolean;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Throws for an unknown class or a region outside the frame. `frame`: its size, which `tiles: motion` depends on. */
export function makeRequest(properties: RequestProperties, model: Model, frame?: Size): DetectRequest {
  const { roi, tiles } = properties;
  const grid = tiles === "motion" ? chooseTiles(model.card.input, frame, roi) : tiles;
  return {
    regions: listRegions(roi ?? null, grid ?? null),
    onlyMoving: grid?.motion ?? false,
    within: roi ?? WHOLE,
    filter: readFilter(properties, model),
  };
}

/** Of a tile, in sides of the model's input: smaller tiles show smaller objects, and are more inferences. */
const TILE_SIDES = 2;
const MOST_TILES = 16;

/** Tiles of about twice the input of the model. */
export function chooseTiles(input: Size, frame: Size = input, { width, height }: Size = WHOLE): Tiles {
  const count = (pixels: number, side: number): number =>
    Math.min(MOST_TILES, Math.max(1, Math.round(pixels / (TILE_SIDES * side))));
  return {
    columns: count(width * frame.width, input.width),
    rows: count(height * frame.height, input.height),
    motion: true,
  };
}

/** Throws for a class that the model does not have. */
export function readFilter(properties: RequestProperties, { card, labels }: Model): DetectionFilter {
  const confidence = properties.confidence ?? card.thresholds.confidence;
  const weak = properties.weak ?? card.thresholds.weak;
  return {
    confidence,
    weak,
    overlap: properties.overlap ?? card.thresholds.overlap,
    minimum: Math.min(confidence, weak),
    classIds: properties.classes.length === 0 ? null : readClasses(properties.classes, card.model, labels),
  };
}

function readClasses(names: readonly string[], model: string, labels: readonly string[]): ReadonlySet<number> {
  const unknown = names.filter((name) => !labels.includes(name));
  if (unknown.length === 0) return new Set(names.map((name) => labels.indexOf(name)));
  const hints = unknown.map((name) => `"${name}"${didYouMean(name, labels)}`).join(", ");
  throw new Error(`the model ${model} has no class ${hints}\n  its classes: ${labels.join(", ")}`);
}

export const WHOLE: Region = { x: 0, y: 0, width: 1, height: 1 };
/** Tolerance for sums of decimal fractions. */
const SLACK = 1e-9;

/** Tiles row by row, then the whole frame. Throws for a region outside the frame. */
export function listRegions(roi: Region | null, tiles: Tiles | null): readonly Region[] {
  const within = roi ?? WHOLE;
  if (within.x + within.width > 1 + SLACK || within.y + within.height > 1 + SLACK) {
    throw new Error(
      `roi reaches beyond the frame: x + width is ${round(within.x + within.width)}, y + height is ${round(within.y + within.height)}; expected fractions of the frame that add up to at most 1`,
    );
  }
  if (tiles === null) return [within];
  const { columns, rows, overlap = 0.2, whole = true } = tiles;
  const across = divide(within.x, within.width, columns, overlap);
  const down = divide(within.y, within.height, rows, overlap);
  const regions = down.flatMap(([y, height]) => across.map(([x, width]) => ({ x, y, width, height })));
  return whole && regions.length > 1 ? [...regions, within] : regions;
}

/** `count` parts of equal length that cover `length` and share `overlap` of themselves with the next. */
function divide(start: number, length: number, count: number, overlap: number): readonly (readonly [number, number])[] {
  const part = length / (count - (count - 1) * overlap);
  const step = part * (1 - overlap);
  return Array.from({ length: count }, (_, index) => [start + index * step, part] as const);
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
