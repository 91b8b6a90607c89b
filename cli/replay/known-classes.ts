/** Names of classes: what alerts may ask for, and what this graph can find. */
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { findCard, listCardFiles } from "../../models/find-card.ts";
import { isInstalled, labelsOf } from "../../models/open.ts";
import { readCard } from "../../models/read-card.ts";
import type { JsonRecord } from "../../schemas/json.ts";

/** Of all installed models, as the service takes them. Null where none is: then nobody can say. */
export async function listKnownClasses(): Promise<readonly string[] | null> {
  const found = listCardFiles().map(async ({ name, file, origin }) => {
    try {
      const card = readCard(file);
      return (await isInstalled({ card, file, origin, askedFor: name })) ? labelsOf(card) : [];
    } catch {
      return []; // a card that is faulty is none
    }
  });
  const names = [...new Set((await Promise.all(found)).flat())];
  return names.length === 0 ? null : names;
}

export interface Looking {
  readonly model: string;
  readonly classes: ReadonlySet<string>;
}

/** What the graph looks for, by its first element `detect`; null where it has none, or a model that cannot be read. */
export function findLooking({ main, branches }: GraphPlan): Looking | null {
  const detect = [main, ...branches].flatMap(({ nodes }) => nodes).find(({ element }) => element === "detect");
  if (detect === undefined) return null;
  const { model = "default", classes = [] } = detect.properties as JsonRecord & {
    readonly classes?: readonly string[];
  };
  try {
    const labels = labelsOf(findCard(String(model)).card);
    return { model: String(model), classes: new Set(classes.length === 0 ? labels : classes) };
  } catch {
    return null; // the graph itself will say so
  }
}

/** Of those that an alert asks for, the ones that this graph never finds. */
export const listMissed = (filter: JsonRecord, { classes }: Looking): readonly string[] =>
  Array.isArray(filter.class_names) ? (filter.class_names as string[]).filter((name) => !classes.has(name)) : [];
