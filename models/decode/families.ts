/**
 * Selects the decoder of a model. A family of networks is a list of readings, one per export format; names and shapes of
 * the outputs select one of them, once, before the first frame.
 */
import type { ModelCard } from "../card.ts";
import { ModelMisfit } from "../fault.ts";
import { COCO } from "../labels.ts";
import type { Decoder, Family, Fitting, Reading, Size, TensorInfo } from "./decoder.ts";
import { detr } from "./detr.ts";
import type { FamilyName } from "./options.ts";
import { picodet } from "./picodet.ts";
import { efficientdet, ssd } from "./ssd.ts";
import { yolo, yolox } from "./yolo.ts";

const FAMILIES: Readonly<Record<FamilyName, Family>> = { efficientdet, ssd, yolox, yolo, picodet, detr };
/** Not those of options.ts, which would load TypeBox into the inference thread. */
const NAMES = Object.keys(FAMILIES) as readonly FamilyName[];

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
  if (first === undefined) throw explainMisfit(card.model, name, fitting);
  if (more.length > 0 && family.areAlike) throw explainAmbiguity(card.model, name, fitting, [first, ...more]);
  return first.decoder;
}

/** Whether networks of this family find an object more than once, so that a single candidate is doubtful. */
export const findsOften = ({ decoder }: Pick<ModelCard, "decoder">): boolean =>
  FAMILIES[decoder.family].isFoundOften ?? false;

/** Families that can read these outputs; dynamic dimensions are only accepted when no family fits without them. */
export function findFamilies(
  card: Omit<Described, "model" | "decoder">,
  classCount: number,
  outputs: readonly TensorInfo[],
): readonly FamilyName[] {
  const fits = (isLoose: boolean) =>
    NAMES.filter((family) => {
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
  // A conversion may have kept only some of the labels.
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

function explainAmbiguity(
  model: string,
  name: FamilyName,
  fitting: Fitting,
  found: readonly FittingReading[],
): ModelMisfit {
  return new ModelMisfit(
    [
      `${model}: the decoder ${name} of its card can read the outputs of this model in more than one way`,
      ...describeOutputs(fitting),
      `  which may be, with ${fitting.classCount} labels,`,
      ...found.map(({ reading }) => `    form: ${reading.form}, ${reading.expects(fitting)}`),
      "  select one with decoder.form in the card, or export the model with fixed sizes",
    ].join("\n"),
  );
}

function explainMisfit(model: string, name: FamilyName, fitting: Fitting): ModelMisfit {
  const bare: Fitting = { ...fitting, options: { family: fitting.options.family } };
  const others = NAMES.filter((other) => other !== name && findReadings(FAMILIES[other], bare).length > 0);
  const { width, height } = fitting.input;
  return new ModelMisfit(
    [
      `${model}: the outputs of this model do not fit the decoder ${name} of its card`,
      ...describeOutputs(fitting),
      `  ${name} with ${fitting.classCount} labels and an input of ${width}×${height} reads`,
      ...readingsFor(FAMILIES[name], fitting).map((reading) => `    ${reading.expects(fitting)}`),
      others.length > 0
        ? `  ${others.join(" or ")} could read it: set decoder.family`
        : "  check decoder.family, the number of labels and the size of the input",
    ].join("\n"),
  );
}

const describeOutputs = ({ outputs }: Fitting): readonly string[] => [
  "  the model has",
  ...outputs.map(({ name, type, shape }) => `    ${name}: ${type} [${shape.join(", ")}]`),
];
