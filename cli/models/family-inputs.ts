import type { ModelCard, ModelInput } from "../../models/card.ts";

type Habit = Partial<Pick<ModelInput, "colours" | "fit" | "anchor" | "padding">> & {
  /** For float32 only. */
  readonly numbers?: Pick<ModelInput, "mean" | "std">;
};

/** From 0 to 1. */
const FRACTIONS = { mean: [0, 0, 0], std: [255, 255, 255] } satisfies Habit["numbers"];
const SYMMETRIC = { mean: [127.5, 127.5, 127.5], std: [127.5, 127.5, 127.5] } satisfies Habit["numbers"];
const IMAGENET = { mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375] } satisfies Habit["numbers"];

/** How pictures are fed to a model of each family as its authors train and export it. */
const HABITS: Readonly<Record<ModelCard["decoder"]["family"], Habit>> = {
  efficientdet: { fit: "letterbox", anchor: "top-left", padding: 127, numbers: SYMMETRIC },
  ssd: { fit: "stretch", numbers: SYMMETRIC },
  yolox: { colours: "bgr", fit: "letterbox", anchor: "top-left", padding: 114 },
  yolo: { fit: "letterbox", anchor: "centre", padding: 114, numbers: FRACTIONS },
  picodet: { fit: "stretch", numbers: IMAGENET },
  detr: { fit: "stretch", numbers: FRACTIONS },
};

export function usualInput(family: ModelCard["decoder"]["family"], type: ModelInput["type"]): Partial<ModelInput> {
  const { numbers, ...picture } = HABITS[family];
  return { ...picture, ...(type === "float32" && numbers) };
}
