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
import { DECODERS, type DecoderOptions, type FamilyName, type Form } from "./options.ts";
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
  /** Whether numbers that are only known when the model runs, of classes above all, may be those that are expected. */
  readonly isLoose: boolean;
}

export interface Reading {
  /** What `decoder.form` calls it. */
  readonly form?: Form;
  /** What it can read, with the numbers of this card: shown to whoever brings a model that does not fit. */
  expects(fitting: Fitting): string;
  /** Null for outputs that are others. */
  fit(fitting: Fitting): Decoder | null;
}

export interface Family {
  /** Options of the card that mean something to it. */
  readonly options: readonly Exclude<keyof DecoderOptions, "family">[];
  /** The first that fits is taken; one that must suppose something of the outputs only if no other does. */
  readonly readings: readonly Reading[];
  /** The same outputs may fit several of them: then `decoder.form` must say which. */
  readonly areAlike?: true;
  /** Several anchors look at every place, and their outputs come as they are: an object is found more than once. */
  readonly isFoundOften?: true;
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
  const fitting = startFitting(card, classCount, outputs);
  const [first, ...more] = findReadings(family, fitting);
  if (first === undefined) return refuse(card.model, name, fitting);
  if (more.length > 0 && family.areAlike) return refuseToGuess(card.model, name, fitting, [first, ...more]);
  return first.decoder;
}

/** Whether a network of this card finds an object more than once, so that a candidate alone is in doubt. */
export const findsOften = ({ decoder }: Pick<ModelCard, "decoder">): boolean =>
  FAMILIES[decoder.family].isFoundOften ?? false;

/** Families that could read these outputs; those that must suppose something of them only if there is no other. */
export function findFamilies(
  card: Omit<Described, "model" | "decoder">,
  classCount: number,
  outputs: readonly TensorInfo[],
): readonly FamilyName[] {
  const fits = (isLoose: boolean) =>
    DECODERS.filter((family) => {
      const fitting = startFitting({ ...card, decoder: { family } }, classCount, outputs);
      return fitReadings(FAMILIES[family], { ...fitting, isLoose }).length > 0;
    });
  const sure = fits(false);
  return sure.length > 0 ? sure : fits(true);
}

function startFitting(
  { input, labels, decoder }: Omit<Described, "model">,
  classCount: number,
  outputs: readonly TensorInfo[],
): Fitting {
  // A conversion may have kept only some of them.
  const isCoco = labels === "coco" && classCount === COCO.length;
  return { input, options: decoder, classCount, isCoco, outputs, isLoose: false };
}

interface FittingReading {
  readonly reading: Reading;
  readonly decoder: Decoder;
}

function findReadings(family: Family, fitting: Fitting): readonly FittingReading[] {
  const sure = fitReadings(family, fitting);
  return sure.length > 0 ? sure : fitReadings(family, { ...fitting, isLoose: true });
}

const fitReadings = (family: Family, fitting: Fitting): readonly FittingReading[] =>
  readingsFor(family, fitting).flatMap((reading) => {
    const decoder = reading.fit(fitting);
    return decoder === null ? [] : [{ reading, decoder }];
  });

const readingsFor = ({ readings }: Family, { options: { form } }: Fitting): readonly Reading[] =>
  readings.filter((reading) => form === undefined || reading.form === form);

function refuseToGuess(model: string, name: FamilyName, fitting: Fitting, found: readonly FittingReading[]): never {
  throw new ModelMisfit(
    [
      `${model}: the decoder ${name} of its card can read the outputs of this model in more than one way`,
      ...tellOutputs(fitting),
      `  which may be, with ${fitting.classCount} labels,`,
      ...found.map(({ reading }) => `    form: ${reading.form}, ${reading.expects(fitting)}`),
      "  say in the card which it is with decoder.form, or export the model with fixed sizes",
    ].join("\n"),
  );
}

function refuse(model: string, name: FamilyName, fitting: Fitting): never {
  const others = Object.entries(FAMILIES)
    .filter(([other, family]) => other !== name && findReadings(family, withoutOptions(fitting)).length > 0)
    .map(([other]) => other);
  const { width, height } = fitting.input;
  throw new ModelMisfit(
    [
      `${model}: the outputs of this model do not fit the decoder ${name} of its card`,
      ...tellOutputs(fitting),
      `  ${name} with ${fitting.classCount} labels and an input of ${width}×${height} reads`,
      ...readingsFor(FAMILIES[name], fitting).map((reading) => `    ${reading.expects(fitting)}`),
      others.length > 0
        ? `  ${others.join(" or ")} could read it: set decoder.family`
        : "  check decoder.family, the number of labels and the size of the input",
    ].join("\n"),
  );
}

const tellOutputs = ({ outputs }: Fitting): readonly string[] => [
  "  the model has",
  ...outputs.map((tensor) => `    ${describeTensor(tensor)}`),
];

const withoutOptions = (fitting: Fitting): Fitting => ({ ...fitting, options: { family: fitting.options.family } });

const describeTensor = ({ name, type, shape }: TensorInfo): string => `${name}: ${type} [${shape.join(", ")}]`;
