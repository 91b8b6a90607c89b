/** A frame as handlers see it: a view of a native call that is alive until the handler settles. JS thread only. */
import { addon, type NativePlane } from "./addon.ts";
import { type LooseShape, packShapes } from "./shapes.ts";

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
const NOTHING: Metadata = Object.freeze({});

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
    this.#meta = meta ?? NOTHING;
    this.format = format;
    this.inputSize = inputSize;
  }

  get meta(): Metadata {
    return this.#meta;
  }

  write(part: Metadata): void {
    if (this.#settled) throw new Error("the frame has gone on: metadata must be written before the handler settles");
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
    return this.#order(async () => (await addon.orderTensor(this.#call, target, order)) as unknown as TensorGeometry);
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
   * A dead frame rejects like every other fault of an order. One that nobody awaits must not end the process: it is told
   * when its frame has gone on, which no handler that awaits lets happen, and not at all when the frame was discarded.
   */
  #order<T>(place: () => Promise<T>): Promise<T> {
    const ordered = (async () => place())();
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

  /** What was written, for the buffer; undefined when nothing was. */
  settle(): Metadata | undefined {
    this.#settled = true;
    return this.#written ? this.#meta : undefined;
  }

  discard(): void {
    this.#settled = this.#discarded = true;
    this.#abort?.abort();
  }
}

interface TensorGeometry {
  readonly scaleX: number;
  readonly scaleY: number;
  readonly offsetX: number;
  readonly offsetY: number;
  readonly originX: number;
  readonly originY: number;
}

/** Plain data is shared by branches from now on. Typed arrays cannot be frozen and are left as they are. */
function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
}
