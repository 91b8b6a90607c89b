/** What a schema cannot say: parts of a card that do not go together. */
import { didYouMean } from "../schemas/suggest.ts";
import type { ModelCard } from "./card.ts";
import type { CardError } from "./card-errors.ts";
import { COCO } from "./labels.ts";

export function judgeCard(card: ModelCard): readonly CardError[] {
  return [
    ...judgeThresholds(card),
    ...judgeInput(card),
    ...judgeSources(card),
    ...judgeLabels(card),
    ...judgeConversion(card),
  ];
}

function judgeThresholds({ thresholds: { weak, confidence } }: ModelCard): readonly CardError[] {
  if (weak <= confidence) return [];
  const message = `thresholds.weak is ${weak}, above thresholds.confidence, which is ${confidence} (expected it to be lower: weak detections only help the tracker)`;
  return [{ path: ["thresholds", "weak"], message }];
}

function judgeInput({ input }: ModelCard): readonly CardError[] {
  if (input.type === "float32") return [];
  return (["mean", "std"] as const)
    .filter((key) => input[key] !== undefined)
    .map((key) => ({
      path: ["input", key],
      atKey: true,
      message: `input.${key} has no meaning for uint8, which takes pixels as they are (expected type: float32, or no ${key})`,
    }));
}

function judgeSources({ sources }: ModelCard): readonly CardError[] {
  return sources.flatMap((source, i) => {
    if ("member" in source && source.member.split("/").includes(".."))
      return [{ path: ["sources", `${i}`, "member"], message: `sources[${i}].member leads out of the package` }];
    if ("url" in source && !URL.canParse(source.url))
      return [{ path: ["sources", `${i}`, "url"], message: `sources[${i}].url is no address` }];
    return [];
  });
}

function judgeLabels({ labels, convert }: ModelCard): readonly CardError[] {
  const all = labels === "coco" ? COCO : labels;
  const twice = all.flatMap((label, i) => {
    const first = all.indexOf(label);
    return first === i
      ? []
      : [
          {
            path: ["labels", `${i}`],
            message: `"${label}" is in the labels twice, as number ${first} and ${i} (expected each once: they are told apart by it)`,
          },
        ];
  });
  const unknown = (convert?.classes ?? []).flatMap((name, i) => {
    if (all.includes(name)) return [];
    const message = `"${name}" is none of the ${all.length} labels${didYouMean(name, all)}`;
    return [{ path: ["convert", "classes", `${i}`], message }];
  });
  return [...twice, ...unknown];
}

/** What the converter makes of an EfficientDet, whatever the card says. */
const CONVERTED = { type: "uint8", layout: "nhwc", colours: "rgb", fit: "letterbox", anchor: "top-left" } as const;

function judgeConversion({ convert, input, decoder }: ModelCard): readonly CardError[] {
  if (convert === undefined) return [];
  const errors: CardError[] = Object.entries(CONVERTED)
    .filter(([key, value]) => input[key as keyof typeof CONVERTED] !== value)
    .map(([key, value]) => ({
      path: ["input", key],
      message: `input.${key} is ${input[key as keyof typeof CONVERTED]} (expected ${value}: that is what \`convert\` makes)`,
    }));
  if (decoder.family !== "efficientdet")
    errors.push({
      path: ["decoder", "family"],
      message: `decoder.family is ${decoder.family} (expected efficientdet: that is what \`convert\` makes)`,
    });
  return errors;
}
