/** What people who are no operators may say: the author of a graph that is tried, and whoever starts an installed one. */
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import { didYouMean } from "../../../schemas/suggest.ts";
import type { GraphDocument, Slot } from "../document.ts";
import type { FaultList } from "../fault-list.ts";
import { ALLOWED_ELEMENTS } from "./allow-list.ts";
import { type ReachKnowledge, reachOf } from "./reach.ts";
import { isElement, listSteps, listUses, type PropertyUse } from "./uses.ts";

export interface RestrictKnowledge extends ReachKnowledge {
  /** Names of the installed models. */
  readonly models: readonly string[];
}

/**
 * A slot that records or publishes is no reason to refuse a graph that is tried, or nobody could try a change to the
 * templates: it is left out, and cannot be attached.
 */
export const canTry = ({ chain }: Slot): boolean =>
  chain.steps.every((step) => !isElement(step) || ALLOWED_ELEMENTS.has(step.element));

/** Of a graph whose author is not trusted: elements and texts beyond the allow-list are faults, on their lines. */
export function restrictAuthor(
  whole: GraphDocument,
  params: JsonRecord,
  knowledge: RestrictKnowledge,
  faults: FaultList,
): void {
  const document = { ...whole, slots: whole.slots.filter(canTry) };
  const isKnown = (name: string): boolean => knowledge.elements.has(name) || knowledge.registry.get(name) !== undefined;
  const refused = listSteps(document).filter(({ element }) => !ALLOWED_ELEMENTS.has(element) && isKnown(element));
  for (const { element, at } of refused)
    faults.add("unknown_element", at, `"${element}" may not be used in a graph that is tried`, {
      expected: "elements that reach nothing outside the graph: `can_try` in `GET /elements`",
    });
  for (const use of listUses(document)) {
    if (!ALLOWED_ELEMENTS.has(use.step.element)) continue;
    const { step, entry } = use;
    const reach = reachOf(step.element, entry.key, knowledge);
    if (reach === "outside" && isProperty(use, knowledge))
      faults.add("bad_property", entry.at, `${step.element}.${entry.key} may not be set in a graph that is tried`, {
        expected: "properties that name nothing outside the graph",
      });
    if (reach !== "model") continue;
    const complaint = judgeModel(modelOf(use, params), knowledge.models);
    if (complaint !== null) faults.add("bad_property", entry.value.at, `${step.element}.${entry.key} ${complaint}`);
  }
}

/** A name that is no property at all is reported as that. */
const isProperty = ({ step, entry }: PropertyUse, { elements, registry }: RestrictKnowledge): boolean =>
  elements.has(step.element) || registry.get(step.element)?.properties[entry.key] !== undefined;

/** Undefined when it is put together of several parts, or comes from a parameter of a slot: not known beforehand. */
function modelOf({ entry, params, whole }: PropertyUse, values: JsonRecord): Json | undefined {
  if (whole !== null) return Object.hasOwn(values, whole) ? values[whole] : undefined;
  return params.length === 0 && entry.value.kind === "scalar" ? entry.value.value : undefined;
}

/** What is wrong with it as the name of a model, or null. */
function judgeModel(value: Json | undefined, models: readonly string[]): string | null {
  if (typeof value === "string" && models.includes(value)) return null;
  const found = value === undefined ? "is put together of several texts" : `is ${JSON.stringify(value).slice(0, 80)}`;
  const hint = typeof value === "string" ? didYouMean(value, models) : "";
  return `${found}, which is not the name of an installed model; there are ${models.join(", ") || "none"}${hint}`;
}

/** Parameters that clients may not set: their values would name something on this machine. With what they reach. */
export function listReserved(document: GraphDocument, knowledge: ReachKnowledge): ReadonlyMap<string, string> {
  const own = new Set(document.params.map(({ name }) => name));
  const reaching = listUses(document).filter(({ step, entry, whole }) => {
    const reach = reachOf(step.element, entry.key, knowledge);
    return reach === "outside" || (reach === "model" && whole === null);
  });
  return new Map(
    reaching.flatMap(({ step, entry, params }) =>
      params.filter((name) => own.has(name)).map((name) => [name, `${step.element}.${entry.key}`] as const),
    ),
  );
}

/** Of an installed graph: what is wrong with the parameters that a client gives, by their names. */
export function judgeGiven(
  document: GraphDocument,
  given: JsonRecord,
  knowledge: RestrictKnowledge,
): readonly { readonly param: string; readonly message: string }[] {
  const reserved = listReserved(document, knowledge);
  return Object.keys(given).flatMap((param) => {
    const target = reserved.get(param);
    if (target !== undefined) {
      const message = `cannot be set by clients: it becomes ${target}, which names something on the server; leave it out`;
      return [{ param, message }];
    }
    const isModel = listUses(document).some(
      ({ step, entry, whole }) => whole === param && reachOf(step.element, entry.key, knowledge) === "model",
    );
    const complaint = isModel ? judgeModel(given[param], knowledge.models) : null;
    return complaint === null ? [] : [{ param, message: complaint }];
  });
}
