import type { ModelInput } from "../../../models/card.ts";

type Memory = ArrayBuffer | SharedArrayBuffer;

/** Bytes that the input of a model takes. */
export const sizeOf = ({ width, height, type }: ModelInput): number =>
  3 * width * height * (type === "uint8" ? 1 : Float32Array.BYTES_PER_ELEMENT);

export const viewTensor = ({ type }: ModelInput, memory: Memory): Uint8Array | Float32Array =>
  type === "uint8" ? new Uint8Array(memory) : new Float32Array(memory);
