/** Checks a card with its ONNX file: the card is valid, and the network fits it and runs. */
import { statSync } from "node:fs";
import { CardFault, ModelFault } from "../../../models/fault.ts";
import { digestFile } from "../../../models/files.ts";
import { labelsOf } from "../../../models/open.ts";
import { parseCard, readText } from "../../../models/read-card.ts";
import type { ModelCheck } from "../../../schemas/model-check.ts";
import { tryModel } from "../try-model.ts";

/** Of cards in messages. */
const CARD = "card.yaml";

/** Never rejects for a wrong model. */
export async function checkModel(cardFile: string, weights: string): Promise<ModelCheck> {
  try {
    const sha256 = await digestFile(weights);
    const card = parseCard(completeCard(readText(cardFile), sha256, statSync(weights).size), CARD);
    if (card.convert !== undefined)
      return { fault: `${CARD}: \`convert\` is not possible here; expected a file that is ONNX already` };
    if (card.sha256 !== sha256)
      return { fault: `${CARD}: sha256 is ${card.sha256}; expected that of the file, ${sha256}, or none` };
    const labels = labelsOf(card);
    await tryModel({ card, labels, file: weights });
    return { card: { ...card }, labels: [...labels] };
  } catch (error) {
    const isExpected =
      error instanceof CardFault || error instanceof ModelFault || (error as Error).name === "ModelMisfit";
    if (!isExpected) throw error;
    return { fault: (error as Error).message.replaceAll(cardFile, CARD).replaceAll(weights, "the file") };
  }
}

/** What is known of the file need not be in its card. After the text: positions of faults stay. */
export function completeCard(text: string, sha256: string, bytes: number): string {
  const known = { sources: "[{ path: model.onnx }]", sha256: `"${sha256}"`, bytes };
  const keys = text.split("\n").map((line) => line.slice(0, line.indexOf(":")).trimEnd());
  const missing = Object.entries(known).filter(([key]) => !keys.includes(key));
  return [text.trimEnd(), ...missing.map(([key, value]) => `${key}: ${value}`), ""].join("\n");
}
