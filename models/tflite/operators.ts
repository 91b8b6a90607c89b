/** The operators that an EfficientDet-Lite is made of, with the settings a converter needs of them. */
import { BadTflite, type Table } from "./flatbuffer.ts";

export type Activation = "none" | "relu" | "relu6";
/** Down and across. */
export type Pair = readonly [down: number, across: number];

export interface Window {
  readonly stride: Pair;
  /** As wide as needed for an output of ⌈input / stride⌉; otherwise none. */
  readonly padded: boolean;
  readonly activation: Activation;
}

export type Kind =
  | { readonly kind: "conv"; readonly depthwise: boolean; readonly dilation: Pair; readonly window: Window }
  | { readonly kind: "max-pool"; readonly size: Pair; readonly window: Window }
  | { readonly kind: "add"; readonly activation: Activation }
  | { readonly kind: "resize-nearest"; readonly alignCorners: boolean; readonly halfPixel: boolean }
  | { readonly kind: "concatenation"; readonly axis: number }
  | { readonly kind: "reshape" | "logistic" | "quantize" | "dequantize" }
  | { readonly kind: "custom"; readonly name: string };

/** Numbers from the TFLite schema. */
const CODES: Readonly<Record<number, (options: Options) => Kind>> = {
  0: (o) => ({ kind: "add", activation: o.activation(0) }),
  2: (o) => ({ kind: "concatenation", axis: o.int32(0, 0) }),
  3: (o) => ({ kind: "conv", depthwise: false, dilation: [o.int32(5, 1), o.int32(4, 1)], window: o.window(3) }),
  4: (o) => ({ kind: "conv", depthwise: true, dilation: [o.int32(6, 1), o.int32(5, 1)], window: o.window(4) }),
  6: () => ({ kind: "dequantize" }),
  14: () => ({ kind: "logistic" }),
  17: (o) => ({ kind: "max-pool", size: [o.int32(4, 0), o.int32(3, 0)], window: o.window(5) }),
  22: () => ({ kind: "reshape" }),
  97: (o) => ({ kind: "resize-nearest", alignCorners: o.flag(0), halfPixel: o.flag(1) }),
  114: () => ({ kind: "quantize" }),
};
const CUSTOM_CODE = 32;
const ACTIVATIONS: readonly (Activation | undefined)[] = ["none", "relu", undefined, "relu6"];

export function readKind(code: number, customName: string, options: Table | null): Kind {
  if (code === CUSTOM_CODE) return { kind: "custom", name: customName };
  const read = CODES[code];
  if (read !== undefined) return read(new Options(options));
  throw new BadTflite(
    `the TFLite file uses operator ${code}, which no EfficientDet-Lite has; known are ${Object.keys(CODES).join(", ")}`,
  );
}

/** An operator whose settings are all at their defaults may have no table of them. */
class Options {
  readonly #table: Table | null;

  constructor(table: Table | null) {
    this.#table = table;
  }

  int32(field: number, fallback: number): number {
    return this.#table?.int32(field, fallback) ?? fallback;
  }

  flag(field: number): boolean {
    return this.#table?.uint8(field) === 1;
  }

  activation(field: number): Activation {
    const number = this.#table?.int8(field) ?? 0;
    const activation = ACTIVATIONS[number];
    if (activation !== undefined) return activation;
    throw new BadTflite(`the TFLite file uses activation ${number}; known are 0 (none), 1 (ReLU) and 3 (ReLU6)`);
  }

  /** Padding and strides lie in the same three fields of convolutions and pools. */
  window(activationField: number): Window {
    const stride: Pair = [this.int32(2, 1), this.int32(1, 1)];
    if (stride[0] < 1 || stride[1] < 1) {
      throw new BadTflite(`the TFLite file has a stride of ${stride.join(" and ")}; 1 or more was expected`);
    }
    const padded = (this.#table?.int8(0) ?? 0) === 0;
    return { stride, padded, activation: this.activation(activationField) };
  }
}
