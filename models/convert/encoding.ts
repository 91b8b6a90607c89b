/** How the network's numbers are stored: in the signed bytes of the TFLite file, or shifted into unsigned ones. */
import type { Int8Kernels } from "../int8-kernels.ts";
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Tensor } from "../tflite/read-model.ts";

export type Activations = Int8Kernels["activations"];

export interface Encoding {
  readonly scale: number;
  readonly zeroPoint: Int8Array | Uint8Array;
  /** The least and the greatest value that can be stored. */
  readonly lowest: number;
  readonly highest: number;
}

/** From the signed to the unsigned byte of the same value. */
const SHIFT = 128;

export function encode({ name, type, quantisation }: Tensor, activations: Activations): Encoding {
  const scale = quantisation?.scales[0];
  const zero = quantisation?.zeroPoints[0];
  if (scale === undefined || zero === undefined || quantisation?.scales.length !== 1) {
    throw new BadTflite(`tensor ${name} should have one scale and one zero point, as in int8 EfficientDet-Lite files`);
  }
  const signed = type === "int8" ? zero : zero - SHIFT;
  const known = type === "int8" || type === "uint8";
  if (!known || !(scale > 0 && scale < Number.POSITIVE_INFINITY) || !(signed >= -SHIFT && signed < SHIFT)) {
    throw new BadTflite(`tensor ${name} cannot be ${type} with the scale ${scale} and the zero point ${zero}`);
  }
  const stored = type === "uint8" ? "uint8" : activations;
  return {
    scale,
    zeroPoint: stored === "int8" ? Int8Array.of(signed) : Uint8Array.of(signed + SHIFT),
    lowest: (-SHIFT - signed) * scale,
    highest: (SHIFT - 1 - signed) * scale,
  };
}

/** Whether the same bytes mean the same values. */
export const isSame = (a: Encoding, b: Encoding): boolean =>
  a.scale === b.scale && a.zeroPoint.constructor === b.zeroPoint.constructor && a.zeroPoint[0] === b.zeroPoint[0];
