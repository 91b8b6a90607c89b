/** Names that fit at a position in the text of a graph: elements, properties, values, params, parts and variables. */
import type { Element } from "../../../client/client.ts";
import { type KeyPath, listKeys, placeAt, type TextPlace, type WrittenKey } from "./yaml-places.ts";

export interface Option {
  readonly label: string;
  /** Beside the name. */
  readonly detail?: string;
  readonly info?: string;
  readonly type: "class" | "property" | "enum" | "variable" | "keyword";
}

export interface Completion {
  /** Where the name begins that is being written. */
  readonly from: number;
  readonly options: readonly Option[];
}

/** What the service knows. */
export interface KnownNames {
  readonly elements: readonly Pick<Element, "name" | "about">[];
  /** Of the graph and of those that it extends. */
  readonly params: readonly string[];
  /** Null: there is no such element. */
  describe(element: string): Promise<Element | null>;
}

const TOP = ["graph", "about", "extends", "params", "parts", "chains", "slots", "set", "insert", "remove", "tests"];
/** Of steps that are not elements. */
const STEPS = ["from", "to", "use"];
/** That every step can have. */
const STEP_KEYS = ["name", "when"];

export async function complete(text: string, at: number, known: KnownNames): Promise<Completion | null> {
  const place = placeAt(text, at);
  const from = (pattern: RegExp): number => at - (pattern.exec(place.written)?.[0].length ?? 0);
  const keys = listKeys(text);
  const [, param] = /\$\{?([A-Za-z0-9_-]*)$/.exec(place.written) ?? [];
  if (param !== undefined && place.isValue)
    return answer(at - param.length, listParams(place.path, keys, known).map(toOption("variable")));
  const word = from(/(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]*$/);
  if (place.path.length === 0 && !place.isValue) return answer(word, TOP.map(toOption("keyword")));
  const step = findStep(place);
  if (step === null) return null;
  if (step.element === null)
    return answer(word, [
      ...STEPS.map(toOption("keyword")),
      ...known.elements.map(({ name, about }) => ({ label: name, info: about, type: "class" as const })),
    ]);
  if (step.element === "use" && (step.property === null || step.property === "part") && place.isValue)
    return answer(word, childrenOf(keys, ["parts"]).map(toOption("class")));
  if (step.element === "from" || step.element === "to") return answer(word, listNodes(keys).map(toOption("variable")));
  const described = await known.describe(step.element);
  if (described === null) return null;
  if (!place.isValue && step.property === null)
    return answer(word, [
      ...described.properties.filter(({ read_only }) => !read_only).map(toProperty),
      ...STEP_KEYS.map(toOption("keyword")),
    ]);
  return completeValue(described, step, keys, { word, name: from(/(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]*$/) });
}

const answer = (from: number, options: readonly Option[]): Completion | null =>
  options.length === 0 ? null : { from, options };

const toOption =
  (type: Option["type"]) =>
  (label: string): Option => ({ label, type });

const toProperty = ({ name, type, about }: Element["properties"][number]): Option => ({
  ...{ label: name, detail: type, info: about, type: "property" },
});

interface StepPlace {
  /** Null: its name is being written. */
  readonly element: string | null;
  /** Null: a property is being named, or the value is that of the element itself. */
  readonly property: string | null;
}

/** Lists of steps: in chains, slots and parts, and in `insert`. */
const STEP_LISTS: readonly KeyPath[] = [
  ["chains", "*", "-"],
  ["slots", "*", "chain", "-"],
  ["parts", "*", "chain", "-"],
  ["insert", "-", "steps", "-"],
];

function findStep({ path, isValue }: TextPlace): StepPlace | null {
  if (path[0] === "set" && path.length >= 2)
    return { element: path[1]?.split("/").at(-1) ?? null, property: path[2] ?? null };
  const list = STEP_LISTS.find((shape) =>
    shape.every((key, index) => (key === "*" ? path[index] !== undefined : path[index] === key)),
  );
  if (list === undefined) return null;
  const [element, property, ...inner] = path.slice(list.length);
  if (element === undefined) return { element: null, property: null };
  return inner.length > 0 && !isValue ? null : { element, property: property ?? null };
}

function completeValue(
  { properties, variables = [] }: Element,
  { property }: StepPlace,
  keys: readonly WrittenKey[],
  { word, name }: { readonly word: number; readonly name: number },
): Completion | null {
  const found = properties.find((one) => one.name === property);
  const isExpression = property === null ? variables.length > 0 : found?.is_expression === true;
  if (isExpression)
    return answer(name, [
      ...variables.map(({ name: label, type, about }) => ({
        label,
        detail: type,
        info: about,
        type: "variable" as const,
      })),
      ...listValues(keys).map(toOption("variable")),
    ]);
  if (found === undefined) return null;
  const choices = found.choices.map(({ name: label, about }) => ({ label, info: about, type: "enum" as const }));
  const values = found.type === "boolean" ? ["true", "false"] : (found.values ?? []);
  return answer(word, [...choices, ...values.map(toOption("enum"))]);
}

/** A part has only its own, a slot its own and those of the graph. */
function listParams(
  [first, name = ""]: KeyPath,
  keys: readonly WrittenKey[],
  { params }: KnownNames,
): readonly string[] {
  const own = first === "parts" || first === "slots" ? childrenOf(keys, [first, name, "params"]) : [];
  if (first === "parts") return own;
  return [...new Set([...own, ...childrenOf(keys, ["params"]), ...params])];
}

/** Names that authors give to nodes, such as tees. */
const listNodes = (keys: readonly WrittenKey[]): readonly string[] => [
  ...new Set(
    keys.flatMap(({ path, key, value }) => (key === "name" && path.length > 3 && value !== "" ? [value] : [])),
  ),
];

/** Values and counts that the graph computes itself. */
const listValues = (keys: readonly WrittenKey[]): readonly string[] => [
  ...new Set(
    keys.flatMap(({ path, key, value }) => {
      const [element, property] = path.slice(-2);
      if (element === "map" && (property === "set" || property === "frame")) return [key];
      return property === "count" && key === "as" ? [value] : [];
    }),
  ),
];

const childrenOf = (keys: readonly WrittenKey[], path: KeyPath): readonly string[] =>
  keys
    .filter((one) => one.path.length === path.length && path.every((key, index) => one.path[index] === key))
    .map(({ key }) => key);
