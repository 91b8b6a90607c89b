/** A frame as handlers see it: a view of a native call, valid until the handler settles. JS thread only. */
import { addon, type NativePlane, type TensorGeometry } from "./addon.ts";

export interface Format {
  readonly caps: string;
  readonly mediaType: string;
  readonly pixels: string | null;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

type Metadata = Readonly<Record<string, unknown>>;
const NO_METADATA: Metadata = Object.freeze({});

export class NativeFrame {
  readonly index: number;
  readonly ptsNs: bigint | null;
  readonly durationNs: bigint | null;
  readonly captureNs: bigint;
  readonly discontinuity: boolean;
  readonly format: Format;
  readonly inputSize: Size;
  readonly #call: number;
  readonly #fault: (error: unknown) => void;
  #meta: Metadata;
  #written = false;
  #settled = false;
  #discarded = false;
  #planes: NativePlane[] | null = null;
  #abort: AbortController | null = null;

  constructor(
    call: number,
    index: number,
    ptsNs: bigint | null,
    durationNs: bigint | null,
    captureNs: bigint,
    discontinuity: boolean,
    meta: Metadata | undefined,
    format: Format,
    inputSize: Size,
    fault: (error: unknown) => void,
  ) {
    this.#call = call;
    this.#fault = fault;
    this.index = index;
    this.ptsNs = ptsNs;
    this.durationNs = durationNs;
    this.captureNs = captureNs;
    this.discontinuity = discontinuity;
    this.#meta = meta ?? NO_METADATA;
    this.format = format;
    this.inputSize = inputSize;
  }

  get meta(): Metadata {
    return this.#meta;
  }

  write(part: Metadata): void {
    if (this.#settled) throw new Error("the frame has been passed on: write metadata before the handler settles");
    for (const value of Object.values(part)) deepFreeze(value);
    this.#meta = Object.freeze({ ...this.#meta, ...part });
    this.#written = true;
  }

  get planes(): readonly NativePlane[] {
    this.#planes ??= addon.mapFrame(this.#call);
    return this.#planes;
  }

  copy(): Uint8Array {
    return addon.copyFrame(this.#call);
  }

  tensor(target: Float32Array | Uint8Array, order: object): Promise<TensorGeometry> {
    return this.#order(() => addon.orderTensor(this.#call, target, order));
  }

  draw(shapes: readonly LooseShape[]): Promise<void> {
    return this.#order(() => {
      const { numbers, texts } = packShapes(shapes);
      return addon.orderDraw(this.#call, numbers, texts);
    });
  }

  image(type: "image/png" | "image/jpeg", part?: object): Promise<Uint8Array> {
    return this.#order(() => addon.orderImage(this.#call, type, part));
  }

  /**
   * Rejects when the frame is no longer valid. An order that is not awaited must not end the process with an unhandled
   * rejection: when it fails after the handler settled, its error is reported as a fault, unless the frame was discarded.
   */
  #order<T>(start: () => Promise<T>): Promise<T> {
    const ordered = (async () => start())();
    ordered.catch((error: unknown) => {
      if (this.#settled && !this.#discarded) this.#fault(error);
    });
    return ordered;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#settled) this.#abort.abort();
    return this.#abort.signal;
  }

  get isDiscarded(): boolean {
    return this.#discarded;
  }

  /** The metadata for the buffer; undefined when nothing was written. */
  settle(): Metadata | undefined {
    this.#settled = true;
    return this.#written ? this.#meta : undefined;
  }

  discard(): void {
    this.#settled = this.#discarded = true;
    this.#abort?.abort();
  }
}

/** Branches share plain data from now on. Typed arrays cannot be frozen. */
function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
}

/** Any `Shape` of elements/element.ts. */
export interface LooseShape {
  readonly kind?: string;
  readonly [field: string]: unknown;
}

type Pack = (shape: LooseShape, numbers: number[], texts: string[]) => void;

/**
 * Shapes go to native code as one array of numbers and one of texts: reading JavaScript objects field by field there costs
 * more than drawing them. `read_shapes` in src/frames.cc has the same order of kinds and fields. Destructuring instead of
 * a table of field names: this runs for every frame.
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
  hide({ x, y, width, height, block, smooth }, numbers) {
    numbers.push(4, or(x, 0), or(y, 0), or(width, 0), or(height, 0), or(block, 16), smooth === true ? 1 : 0);
  },
};

const or = (value: unknown, fallback: number): number => (typeof value === "number" ? value : fallback);

function packShapes(shapes: readonly LooseShape[]): { numbers: Float64Array; texts: readonly string[] } {
  const numbers: number[] = [];
  const texts: string[] = [];
  for (const shape of shapes) {
    const pack = KINDS[String(shape.kind)];
    if (pack === undefined)
      throw new TypeError(`expected a shape of kind box, fill, line, text or hide, got "${shape.kind}"`);
    pack(shape, numbers, texts);
  }
  return { numbers: new Float64Array(numbers), texts };
}
