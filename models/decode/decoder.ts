/**
 * From what a network gives to boxes. A family of networks is a list of readings, each for one way in which such models
 * are exported; names and shapes of the outputs tell which it is, once, before the first frame.
 */
import type { ModelCard } from "../card.ts";
import { COCO } from "../labels.ts";
import { detr } from "./detr.ts";
import { efficientdet } from "./efficientdet.ts";
import type { Size } from "./grid.ts";
import { ModelMisfit } from "./misfit.ts";
import type { DecoderOptions, FamilyName } from "./options.ts";
import { picodet } from "./picodet.ts";
import { ssd } from "./ssd.ts";
import { yolo } from "./yolo.ts";
import { yolox } from "./yolox.ts";

/** An output as the model declares it. Dimensions that are text, or below 1, are only known when it runs. */
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
  /** All with at least this score, in no order, several for one object. Throws `ModelMisfit` for outputs that changed. */
  decode(outputs: Outputs, minimum: number): Candidates;
}

/** What a reading is judged by. */
export interface Fitting {
  readonly input: Size;
  readonly options: DecoderOptions;
  readonly classCount: number;
  /** The labels are the 80 of COCO. */
  readonly isCoco: boolean;
  readonly outputs: readonly TensorInfo[];
}

export interface Reading {
  /** What it can read, with the numbers of this card: shown to whoever brings a model that does not fit. */
  expects(fitting: Fitting): string;
  /** Null for outputs that are others. */
  fit(fitting: Fitting): Decoder | null;
}

export interface Family {
  /** Options of the card that mean something to it. */
  readonly options: readonly Exclude<keyof DecoderOptions, "family">[];
  /** The first that fits is taken. */
  readonly readings: readonly Reading[];
}

const FAMILIES: Readonly<Record<FamilyName, Family>> = { efficientdet, ssd, yolox, yolo, picodet, detr };

/** The part of a card that decoding depends on. */
type Described = Pick<ModelCard, "model" | "labels" | "decoder"> & { readonly input: Size };

/** Throws `ModelMisfit` when the family of the card cannot read these outputs. */
export function createDecoder(card: Described, classCount: number, outputs: readonly TensorInfo[]): Decoder {
  const { family: name, ...options } = card.decoder;
  const family = FAMILIES[name];
  const foreign = Object.keys(options).filter((option) => !family.options.some((known) => known === option));
  if (foreign.length > 0) {
    const known = family.options.length === 0 ? "it has none" : `it has ${family.options.join(", ")}`;
    throw new ModelMisfit(`${card.model}: the decoder ${name} has no option ${foreign.join(", ")}; ${known}`);
  }
  // A conversion may have kept only some of them.
  const isCoco = card.labels === "coco" && classCount === COCO.length;
  const fitting: Fitting = { input: card.input, options: card.decoder, classCount, isCoco, outputs };
  return findDecoder(family, fitting) ?? refuse(card.model, name, fitting);
}

function findDecoder(family: Family, fitting: Fitting): Decoder | null {
  for (const reading of family.readings) {
    const decoder = reading.fit(fitting);
    if (decoder !== null) return decoder;
  }
  return null;
}

function refuse(model: string, name: FamilyName, fitting: Fitting): never {
  const others = Object.entries(FAMILIES)
    .filter(([other, family]) => other !== name && findDecoder(family, withoutOptions(fitting)) !== null)
    .map(([other]) => other);
  const { width, height } = fitting.input;
  throw new ModelMisfit(
    [
      `${model}: the outputs of this model do not fit the decoder ${name} of its card`,
      "  the model has",
      ...fitting.outputs.map((tensor) => `    ${describeTensor(tensor)}`),
      `  ${name} with ${fitting.classCount} labels and an input of ${width}×${height} reads`,
      ...FAMILIES[name].readings.map((reading) => `    ${reading.expects(fitting)}`),
      others.length > 0
        ? `  ${others.join(" or ")} could read it: set decoder.family`
        : "  check decoder.family, the number of labels and the size of the input",
    ].join("\n"),
  );
}

const withoutOptions = (fitting: Fitting): Fitting => ({ ...fitting, options: { family: fitting.options.family } });

const describeTensor = ({ name, type, shape }: TensorInfo): string => `${name}: ${type} [${shape.join(", ")}]`;
