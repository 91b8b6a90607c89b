/** The contract between a network and its decoder: tensors in, candidate boxes out. */
import type { DecoderOptions, Form } from "./options.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** An output as the model declares it. Dimensions that are text, or below 1, are dynamic. */
export interface TensorInfo {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string)[];
}

/** An output of one run. */
export interface OutputTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array | Int8Array;
}

export type Outputs = Readonly<Record<string, OutputTensor>>;

export interface Candidates {
  readonly count: number;
  /** Left, top, right and bottom of each, in pixels of the input. They may reach beyond it. */
  readonly boxes: Float32Array;
  readonly scores: Float32Array;
  readonly classIds: Int32Array;
}

export interface Decoder {
  /**
   * All candidates with at least this score, unordered, several per object. Throws `ModelMisfit` when the outputs differ
   * from the declared ones.
   */
  decode(outputs: Outputs, minimum: number): Candidates;
}

/** Everything a reading needs to decide whether it fits a model. */
export interface Fitting {
  readonly input: Size;
  readonly options: DecoderOptions;
  readonly classCount: number;
  /** The labels are the 80 of COCO. */
  readonly isCoco: boolean;
  readonly outputs: readonly TensorInfo[];
  /** Whether a dynamic dimension, above all the number of classes, matches any expected size. */
  readonly isLoose: boolean;
}

/** One way in which models of a family are exported. */
export interface Reading {
  /** Its name in `decoder.form`. */
  readonly form?: Form;
  /** The outputs it reads, with the numbers of this card. Part of the error for a model that does not fit. */
  expects(fitting: Fitting): string;
  /** Null when the outputs do not match. */
  fit(fitting: Fitting): Decoder | null;
}

export interface Family {
  /** Card options that this family uses. */
  readonly options: readonly Exclude<keyof DecoderOptions, "family">[];
  /** The first that fits is used. Dynamic dimensions are only accepted when no reading fits without them. */
  readonly readings: readonly Reading[];
  /** Several readings may fit the same outputs: `decoder.form` must then select one. */
  readonly areAlike?: true;
  /** Several anchors cover every position and all of them are output: an object is found more than once. */
  readonly isFoundOften?: true;
}
