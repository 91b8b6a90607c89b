/**
 * Shapes as one array of numbers and one of texts: asking JavaScript objects for their fields one by one costs native
 * code more than drawing them. `read_shapes` in src/shapes.cc reads what is written here.
 */

/** Any `Shape` of elements/element.ts. What is missing is 0, opacity and the start of a line 1. */
export interface LooseShape {
  readonly kind?: string;
  readonly [field: string]: unknown;
}

export interface PackedShapes {
  readonly numbers: Float64Array;
  readonly texts: readonly string[];
}

type Pack = (shape: LooseShape, numbers: number[], texts: string[]) => void;

/**
 * In the order of the readers in src/shapes.cc, of which each kind begins with its place there. Field by field and not by
 * a table of names: this is done for every frame, and the engine then knows where to look.
 */
const KINDS: Readonly<Record<string, Pack>> = {
  box({ x, y, width, height, colour, thickness, opacity, dash }, numbers) {
    numbers.push(0, or(x, 0), or(y, 0), or(width, 0), or(height, 0));
    numbers.push(or(colour, 0), or(thickness, 1), or(opacity, 1), or(dash, 0));
  },
  fill({ x, y, width, height, colour, opacity }, numbers) {
    numbers.push(1, or(x, 0), or(y, 0), or(width, 0), or(height, 0), or(colour, 0), or(opacity, 1));
  },
  line({ colour, thickness, opacity, start, points }, numbers) {
    numbers.push(2, or(colour, 0), or(thickness, 1), or(opacity, 1), or(start, 1));
    const flat = points instanceof Float32Array ? points : (points as readonly (readonly number[])[]).flat();
    numbers.push(flat.length);
    for (const value of flat) numbers.push(value);
  },
  text({ x, y, size, colour, background, opacity, text }, numbers, texts) {
    numbers.push(3, or(x, 0), or(y, 0), or(size, 16), or(colour, 0), or(background, -1), or(opacity, 1));
    texts.push(String(text));
  },
};

const or = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise);

export function packShapes(shapes: readonly LooseShape[]): PackedShapes {
  const numbers: number[] = [];
  const texts: string[] = [];
  for (const shape of shapes) {
    const pack = KINDS[String(shape.kind)];
    if (pack === undefined) throw new TypeError(`a shape is a box, fill, line or text, not "${shape.kind}"`);
    pack(shape, numbers, texts);
  }
  return { numbers: new Float64Array(numbers), texts };
}
