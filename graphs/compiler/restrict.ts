/**
 * What clients without operator rights may do: which elements and properties their own graphs may have, and which
 * parameters of an installed graph they may set.
 */
import type { AnyElement } from "../../elements/element.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { PropertyKind, Registry } from "../../schemas/registry.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { listParams, wholeParam } from "./apply-params.ts";
import type { ElementStep, GraphDocument, Slot, Step } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { type LocatedEntry, toJson } from "./located.ts";
import type { Position } from "./plan.ts";
import { findElementProperty } from "./properties.ts";

/*
 * An allow-list: elements and texts that are not on it are rejected. Reviewed elements open no file and no socket, load
 * nothing by name, and write nowhere but downstream, whatever their properties.
 */

/** Elements of a graph of a client. `encode` replaces the encoders, whose own properties name files. */
export const ALLOWED_ELEMENTS: ReadonlySet<string> = new Set([
  ...["source", "decode", "stage", "detect", "track", "overlay", "resize", "encode", "detections", "feed"],
  ...["telemetry", "geolocate", "alerts", "report", "filter", "map", "count", "blur", "crop"],
  ...["queue", "tee", "identity", "capsfilter", "fakesink", "clocksync", "valve"],
  ...["videoconvert", "videoscale", "videorate", "videocrop", "aspectratiocrop", "videobox", "videoflip"],
  ...["videobalance", "gamma", "deinterlace", "gaussianblur", "compositor"],
  ...["textoverlay", "timeoverlay", "jpegenc", "jpegdec"],
]);

type PropertyTable = Readonly<Record<string, readonly string[]>>;

/** Texts that only select what to draw, detect or pass. All others may name something outside the graph. */
export const FREE_TEXTS: PropertyTable = {
  alerts: ["rules"],
  blur: ["classes"],
  count: ["as", "where"],
  detect: ["classes"],
  filter: ["where"],
  map: ["set", "frame"],
  overlay: ["classes"],
  print: ["keys"],
  textoverlay: ["text", "font-desc"],
  timeoverlay: ["text", "font-desc"],
};

/** Texts that name a model: an installed one, never a path. */
const MODEL_TEXTS: PropertyTable = { detect: ["model"] };
/** Of a step that names none. */
const DEFAULT_MODEL = "default";

/** Not texts, but harmful: these write frames to the runner's standard output. */
const REJECTED_PROPERTIES: PropertyTable = { identity: ["dump"], fakesink: ["dump"] };

export const isModelProperty = (element: string, property: string): boolean =>
  Object.hasOwn(MODEL_TEXTS, element) && MODEL_TEXTS[element]?.includes(property) === true;

interface ElementSources {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
}

/** A model that a client may use. */
export interface UsableModel {
  readonly name: string;
  /** Its classes. */
  readonly labels: readonly string[];
}

interface RestrictOptions extends ElementSources {
  readonly models: readonly UsableModel[];
}

interface AuthorOptions extends RestrictOptions {
  /** Elements that the operator allows besides, with all their properties. */
  readonly authorElements: ReadonlySet<string>;
}

/** How far a value reaches. `model`: the name of a model card. `outside`: a file, host or plugin; not for clients. */
type Reach = "inside" | "model" | "outside";

const INSIDE: readonly PropertyKind[] = ["boolean", "integer", "number", "enum", "flags", "fraction", "caps"];

/** Unknown properties count as `outside`; the compiler reports that they are unknown. */
export function reachOf(element: string, property: string, { elements, registry }: ElementSources): Reach {
  const isIn = (table: PropertyTable) => Object.hasOwn(table, element) && table[element]?.includes(property) === true;
  if (isModelProperty(element, property)) return "model";
  if (isIn(FREE_TEXTS)) return "inside";
  if (isIn(REJECTED_PROPERTIES)) return "outside";
  const definition = elements.get(element);
  if (definition !== undefined) {
    const schema = findElementProperty(definition, property);
    return schema === undefined || acceptsText(schema as JsonRecord) ? "outside" : "inside";
  }
  const kind = registry.get(element)?.properties[property]?.kind;
  return kind !== undefined && INSIDE.includes(kind) ? "inside" : "outside";
}

/** Whether the schema accepts arbitrary text at any depth; true in doubt. */
function acceptsText(schema: Json | undefined): boolean {
  if (schema === undefined || schema === null || typeof schema !== "object" || Array.isArray(schema)) return true;
  const facts = schema as JsonRecord;
  if (facts.enum !== undefined || facts.const !== undefined) return false;
  if (Array.isArray(facts.anyOf)) return facts.anyOf.some(acceptsText);
  const types = [facts.type ?? "any"].flat();
  if (types.every((type) => ["boolean", "integer", "number", "null"].includes(String(type)))) return false;
  if (types.every((type) => type === "array")) return acceptsText(facts.items);
  if (types.every((type) => type === "object")) {
    const inner = Object.values((facts.properties ?? {}) as JsonRecord);
    return facts.additionalProperties !== false || inner.some(acceptsText);
  }
  return true;
}

const isElement = (step: Step): step is ElementStep => step.kind === "element";

/** Slots that record or publish are left out of a client's graph, so that it can be a variant of an installed one. */
export const keepsSlot =
  (authorElements: ReadonlySet<string>) =>
  ({ chain }: Slot): boolean =>
    chain.steps.every(
      (step) => !isElement(step) || ALLOWED_ELEMENTS.has(step.element) || authorElements.has(step.element),
    );

/** Of a graph whose author is not trusted: elements and texts that are not on the allow-list are faults. */
export function restrictAuthor(
  whole: GraphDocument,
  params: JsonRecord,
  options: AuthorOptions,
  faults: FaultList,
): void {
  const { elements, registry, models, authorElements } = options;
  const document = { ...whole, slots: whole.slots.filter(keepsSlot(authorElements)) };
  const isKnown = (name: string): boolean => elements.has(name) || registry.get(name) !== undefined;
  for (const { element, at } of listSteps(document))
    if (!ALLOWED_ELEMENTS.has(element) && !authorElements.has(element) && isKnown(element))
      faults.add("unknown_element", at, `"${element}" is not allowed in a graph of a client`, {
        expected:
          "elements that reach nothing outside the graph: `can_try` in `GET /elements`; the operator allows others with `graphs.author_elements`",
      });
  for (const use of listUses(document)) {
    const { element } = use.step;
    const { key, at, value } = use.entry;
    if (!ALLOWED_ELEMENTS.has(element)) continue;
    const reach = reachOf(element, key, options);
    // An unknown property is reported by the compiler.
    const isProperty = elements.has(element) || registry.get(element)?.properties[key] !== undefined;
    if (reach === "outside" && isProperty && !authorElements.has(element))
      faults.add("bad_property", at, `${element}.${key} is not allowed in a graph of a client`, {
        expected: "properties that name nothing outside the graph",
      });
    if (reach !== "model" || isMissing(use, document, params)) continue;
    const problem = checkModel(modelOf(use, params), models);
    if (problem !== null) faults.add("bad_property", value.at, `${element}.${key} ${problem}`);
  }
}

/** The whole value is a parameter of the graph that has no value yet: no process starts without it. */
const isMissing = ({ whole, isOfSlot }: PropertyUse, { params }: GraphDocument, values: JsonRecord): boolean =>
  whole !== null && !isOfSlot && !Object.hasOwn(values, whole) && params.some(({ name }) => name === whole);

/** Undefined when it has several parts or comes from a parameter of a slot: unknown at this point. */
function modelOf({ entry, params, whole, isOfSlot }: PropertyUse, values: JsonRecord): Json | undefined {
  if (whole !== null) return !isOfSlot && Object.hasOwn(values, whole) ? values[whole] : undefined;
  return params.length === 0 && entry.value.kind === "scalar" ? entry.value.value : undefined;
}

/** Names of models in chains and slots, as far as they are known with these values of the parameters. */
export const listModels = (document: GraphDocument, values: JsonRecord): readonly string[] => [
  ...new Set(
    listUses(document)
      .filter(({ step, entry }) => isModelProperty(step.element, entry.key))
      .map((use) => modelOf(use, values))
      .filter((model) => typeof model === "string"),
  ),
];

/** The problem with the name of a model, or null. */
function checkModel(value: Json | undefined, models: readonly UsableModel[]): string | null {
  const names = models.map(({ name }) => name);
  if (typeof value === "string" && names.includes(value)) return null;
  const found = value === undefined ? "is composed of several texts" : `is ${JSON.stringify(value).slice(0, 80)}`;
  const hint = typeof value === "string" ? didYouMean(value, names) : "";
  return `${found}, which is not the name of an installed model; installed: ${names.join(", ") || "none"}${hint}`;
}

/** A class that the model of its step does not have. */
interface UnknownClass {
  /** The parameter that names it; null: the graph itself does. */
  readonly param: string | null;
  readonly at: Position;
  readonly message: string;
}

/** In steps with a model and a list of classes, as far as both are known with these values of the parameters. */
export function findUnknownClasses(
  document: GraphDocument,
  values: JsonRecord,
  models: readonly UsableModel[],
): readonly UnknownClass[] {
  const uses = listUses(document);
  return uses.flatMap((use): readonly UnknownClass[] => {
    const { step, entry, whole, isOfSlot } = use;
    if (!Object.hasOwn(MODEL_TEXTS, step.element) || entry.key !== "classes" || isOfSlot) return [];
    const ofModel = uses.find((other) => other.step === step && isModelProperty(step.element, other.entry.key));
    const name = ofModel === undefined ? DEFAULT_MODEL : modelOf(ofModel, values);
    const labels = models.find((model) => model.name === name)?.labels;
    const given = whole === null ? toJson(entry.value) : values[whole];
    if (labels === undefined || !Array.isArray(given)) return [];
    return given
      .filter((label) => typeof label === "string" && !labels.includes(label))
      .map((label) => ({
        ...{ param: whole, at: entry.value.at },
        message: `contains "${label}", which is not a class of the model ${name}; GET /models lists them${didYouMean(String(label), labels)}`,
      }));
  });
}

/** Parameters that clients may not set because their values name something on the server, with the property they set. */
export function listReserved(document: GraphDocument, sources: ElementSources): ReadonlyMap<string, string> {
  const own = new Set(document.params.map(({ name }) => name));
  const reaching = listUses(document).filter(({ step, entry, whole }) => {
    const reach = reachOf(step.element, entry.key, sources);
    return reach === "outside" || (reach === "model" && whole === null);
  });
  return new Map(
    reaching.flatMap(({ step, entry, params }) =>
      params.filter((name) => own.has(name)).map((name) => [name, `${step.element}.${entry.key}`] as const),
    ),
  );
}

/** Faults of the parameters that a client gives for an installed graph. */
export function checkGiven(
  document: GraphDocument,
  given: JsonRecord,
  options: RestrictOptions,
): readonly { readonly param: string; readonly message: string }[] {
  const reserved = listReserved(document, options);
  return Object.keys(given).flatMap((param) => {
    const target = reserved.get(param);
    if (target !== undefined) {
      const message = `cannot be set by clients: it becomes ${target}, which names something on the server; leave it out`;
      return [{ param, message }];
    }
    const isModel = listUses(document).some(
      ({ step, entry, whole }) => whole === param && reachOf(step.element, entry.key, options) === "model",
    );
    const message = isModel ? checkModel(given[param], options.models) : null;
    return message === null ? [] : [{ param, message }];
  });
}

/** A property that the graph sets, with the parameters in its value. */
interface PropertyUse {
  readonly step: ElementStep;
  readonly entry: LocatedEntry;
  readonly params: readonly string[];
  /** The parameter that is the whole value, if there is one. */
  readonly whole: string | null;
  /** That parameter is one of the slot, whatever the graph has of the same name. */
  readonly isOfSlot: boolean;
}

const listSteps = (document: GraphDocument): readonly ElementStep[] =>
  [...document.chains, ...document.slots.map((slot) => slot.chain)].flatMap(({ steps }) => steps.filter(isElement));

const listUses = ({ chains, slots }: GraphDocument): readonly PropertyUse[] =>
  [...chains.map((chain) => ({ chain, params: [] })), ...slots].flatMap(({ chain, params: ofSlot }) =>
    chain.steps.filter(isElement).flatMap((step) =>
      step.properties.map((entry) => {
        const whole = wholeParam(entry.value);
        const isOfSlot = ofSlot.some(({ name }) => name === whole);
        return { step, entry, params: listParams(entry.value), whole, isOfSlot };
      }),
    ),
  );
