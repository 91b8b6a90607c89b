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

/** Numbers that each kind begins with; a line has its points after them. */
const KINDS: Readonly<Record<string, { readonly code: number; readonly fields: readonly string[] }>> = {
  box: { code: 0, fields: ["x", "y", "width", "height", "colour", "thickness", "opacity", "dash"] },
  fill: { code: 1, fields: ["x", "y", "width", "height", "colour", "opacity"] },
  line: { code: 2, fields: ["colour", "thickness", "opacity", "start"] },
  text: { code: 3, fields: ["x", "y", "size", "colour", "background", "opacity"] },
};
const DEFAULTS: Readonly<Record<string, number>> = { opacity: 1, start: 1, thickness: 1, size: 16, background: -1 };

export function packShapes(shapes: readonly LooseShape[]): PackedShapes {
  const numbers: number[] = [];
  const texts: string[] = [];
  for (const shape of shapes) {
    const kind = KINDS[String(shape.kind)];
    if (kind === undefined) throw new TypeError(`a shape is a box, fill, line or text, not "${shape.kind}"`);
    numbers.push(kind.code);
    for (const field of kind.fields) {
      const value = shape[field];
      numbers.push(typeof value === "number" ? value : (DEFAULTS[field] ?? 0));
    }
    if (shape.kind === "text") texts.push(String(shape.text));
    if (shape.kind === "line") packPoints(shape.points, numbers);
  }
  return { numbers: Float64Array.from(numbers), texts };
}

/** How many numbers, then x, y, x, y … */
function packPoints(points: unknown, numbers: number[]): void {
  const flat = points instanceof Float32Array ? points : (points as readonly (readonly number[])[]).flat();
  numbers.push(flat.length);
  for (const value of flat) numbers.push(value);
}
