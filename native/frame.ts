/** A frame as handlers see it: a view of a native call that is alive until the handler settles. JS thread only. */
import { addon, type NativePlane } from "./addon.ts";

export interface Format {
  readonly caps: string;
  readonly mediaType: string;
  readonly pixels: string | null;
  readonly width: number;
  readonly height: number;
  readonly fps: number;
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
  readonly #call: number;
  #meta: Metadata;
  #written = false;
  #settled = false;
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
  ) {
    this.#call = call;
    this.index = index;
    this.ptsNs = ptsNs;
    this.durationNs = durationNs;
    this.captureNs = captureNs;
    this.discontinuity = discontinuity;
    this.#meta = meta ?? NOTHING;
    this.format = format;
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

  // Async, so that a dead frame rejects like every other fault of an order.
  async tensor(target: Float32Array | Uint8Array, order: object): Promise<TensorGeometry> {
    return (await addon.orderTensor(this.#call, target, order)) as unknown as TensorGeometry;
  }

  async draw(shapes: readonly object[]): Promise<void> {
    await addon.orderDraw(this.#call, shapes);
  }

  async image(type: "image/png" | "image/jpeg"): Promise<Uint8Array> {
    return addon.orderImage(this.#call, type);
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
    this.#settled = true;
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
