/** What is wanted of an inference, from the properties and the model's card. */
import type { Model } from "../../models/open.ts";
import { didYouMean } from "../../schemas/suggest.ts";

export interface WantedProperties {
  readonly confidence: number | null;
  readonly weak: number | null;
  readonly overlap: number | null;
  readonly classes: readonly string[];
}

export interface Wanted {
  readonly confidence: number;
  readonly weak: number;
  readonly overlap: number;
  /** The lower of the two thresholds. */
  readonly minimum: number;
  /** Null: all of them. */
  readonly classIds: ReadonlySet<number> | null;
}

/** Throws for a class that the model does not know. */
export function readWanted(properties: WantedProperties, { card, labels }: Model): Wanted {
  const confidence = properties.confidence ?? card.thresholds.confidence;
  const weak = properties.weak ?? card.thresholds.weak;
  return {
    confidence,
    weak,
    overlap: properties.overlap ?? card.thresholds.overlap,
    minimum: Math.min(confidence, weak),
    classIds: properties.classes.length === 0 ? null : readClasses(properties.classes, card.model, labels),
  };
}

function readClasses(names: readonly string[], model: string, labels: readonly string[]): ReadonlySet<number> {
  const unknown = names.filter((name) => !labels.includes(name));
  if (unknown.length === 0) return new Set(names.map((name) => labels.indexOf(name)));
  const hints = unknown.map((name) => `"${name}"${didYouMean(name, labels)}`).join(", ");
  throw new Error(`the model ${model} knows no class ${hints}\n  it knows ${labels.join(", ")}`);
}
