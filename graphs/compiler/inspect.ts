/** Elements and their properties in the form that `inspect` shows, for TypeScript and GStreamer elements alike. */

import type { TSchema } from "typebox";
import type { AnyElement } from "../../elements/element.ts";
import { FRAME_VARIABLES, OBJECT_VARIABLES } from "../../expressions/variables.ts";
import type { Json, PropertySchema } from "../../schemas/json.ts";
import { kebab } from "../../schemas/names.ts";
import type { FactoryInfo, PropertyInfo, Registry } from "../../schemas/registry.ts";

export interface ListedElement {
  readonly plugin: string;
  readonly name: string;
  readonly about: string;
  /** Where the word was found, if not in the fields above. */
  readonly matched: readonly Match[];
}

interface Match {
  /** `description`, or the name of a property. */
  readonly where: string;
  /** The description of the element or property, or the matching choice. */
  readonly text: string;
}

export const OURS = "windhover";

interface Candidate extends Omit<ListedElement, "matched"> {
  readonly description: string;
  properties(): readonly ShownProperty[];
}

/**
 * Windhover's elements first, then GStreamer's by plugin. `word` filters by name, plugin and description of the element
 * and its properties.
 */
export function listElements(
  elements: ReadonlyMap<string, AnyElement>,
  registry: Registry,
  word: string | undefined,
): readonly ListedElement[] {
  const ours: readonly Candidate[] = [...elements.values()].map((element) => {
    const { name, about } = element;
    return { plugin: OURS, name, about, description: about, properties: () => propertiesOf(element) };
  });
  // Elements of the addon have no plugin.
  const native: readonly Candidate[] = registry.list().map(({ plugin, name, longName, about }) => ({
    plugin: plugin || OURS,
    name,
    about: longName,
    description: about,
    properties: () => listProperties(registry.get(name)),
  }));
  const byPlugin = [...native].sort((a, b) => compare(a.plugin, b.plugin) || compare(a.name, b.name));
  const wanted = word?.toLowerCase() ?? "";
  return [...ours, ...byPlugin].flatMap(({ plugin, name, about, description, properties }): ListedElement[] => {
    if (has(`${plugin} ${name} ${about}`, wanted)) return [{ plugin, name, about, matched: [] }];
    if (has(description, wanted))
      return [{ plugin, name, about, matched: [{ where: "description", text: description }] }];
    const matched = properties().flatMap((property) => match(property, wanted));
    return matched.length === 0 ? [] : [{ plugin, name, about, matched }];
  });
}

const listProperties = (factory: FactoryInfo | undefined): readonly ShownProperty[] =>
  factory === undefined ? [] : [...propertiesOfFactory(factory), ...propertiesOfPads(factory)];

function match({ name, about, choices }: ShownProperty, wanted: string): readonly Match[] {
  if (has(`${name} ${about}`, wanted)) return [{ where: name, text: about }];
  const choice = choices.find((candidate) => has(`${candidate.name} ${candidate.about}`, wanted));
  return choice === undefined ? [] : [{ where: name, text: `${choice.name}: ${choice.about}` }];
}

const has = (text: string, wanted: string): boolean => text.toLowerCase().includes(wanted);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export interface ShownProperty {
  readonly name: string;
  /** `integer from 0 to 100`, `one of h264, h265`. */
  readonly type: string;
  /** As in a graph; undefined without one. */
  readonly default: Json | undefined;
  readonly required: boolean;
  readonly live: boolean;
  readonly readOnly: boolean;
  readonly deprecated: boolean;
  readonly about: string;
  readonly choices: readonly { readonly name: string; readonly about: string }[];
  /** The only texts that it accepts; empty: any. */
  readonly values: readonly string[];
  /** Its texts are expressions. */
  readonly isExpression: boolean;
}

export function propertiesOf(element: AnyElement): readonly ShownProperty[] {
  const required: readonly string[] = element.properties.required ?? [];
  const schemas: Readonly<Record<string, TSchema>> = element.properties.properties;
  return Object.entries(schemas).map(([name, schema]) => fromSchema(name, schema, required.includes(name)));
}

function fromSchema(name: string, schema: TSchema, required: boolean): ShownProperty {
  const facts = schema as PropertySchema;
  return {
    name: kebab(name),
    type: describeSchema(facts),
    default: facts.default,
    required: required && facts.default === undefined,
    live: facts.live === true,
    readOnly: false,
    deprecated: false,
    about: facts.description ?? "",
    choices: [],
    values: (facts.enum ?? facts.anyOf?.flatMap((one) => one.enum ?? []) ?? []).filter(
      (one) => typeof one === "string",
    ),
    isExpression: hasExpression(schema),
  };
}

/** At any depth: `map` has one for each of its values. */
const hasExpression = (schema: unknown): boolean =>
  typeof schema === "object" &&
  schema !== null &&
  ("expression" in schema || Object.values(schema).some(hasExpression));

/** Of expressions, with their descriptions. */
export const listVariables = (): readonly { readonly name: string; readonly type: string; readonly about: string }[] =>
  Object.entries({ ...OBJECT_VARIABLES, ...FRAME_VARIABLES }).map(([name, { type, about }]) => ({ name, type, about }));

function describeSchema(facts: PropertySchema): string {
  if (facts.enum !== undefined) return `one of ${facts.enum.map(showValue).join(", ")}`;
  if (facts.const !== undefined) return showValue(facts.const);
  if (facts.anyOf !== undefined) return facts.anyOf.map(describeSchema).join(", or ");
  if (facts.items !== undefined) return `list: ${describeSchema(facts.items)}`;
  const type = [facts.type ?? "any value"].flat().join(" or ");
  return `${type}${describeRange(facts.minimum, facts.maximum)}`;
}

/** Without `name` and `parent`, which every GStreamer element has. */
export const propertiesOfFactory = ({ properties }: FactoryInfo): readonly ShownProperty[] =>
  Object.entries(properties)
    .filter(([name]) => name !== "name" && name !== "parent")
    .map(([name, info]) => fromRegistry(name, info));

/** Properties of pads, named as in a graph: `sink_%u::xpos`. */
export const propertiesOfPads = ({ pads }: FactoryInfo): readonly ShownProperty[] =>
  pads.flatMap((pad) =>
    Object.entries(pad.properties ?? {}).map(([name, info]) => fromRegistry(`${pad.name}::${name}`, info)),
  );

function fromRegistry(name: string, info: PropertyInfo): ShownProperty {
  const isChoice = info.kind === "enum" || info.kind === "flags";
  return {
    name,
    type: describeNative(info),
    default: info.writable ? info.default : undefined,
    required: false,
    live: info.live,
    readOnly: !info.writable,
    deprecated: info.deprecated,
    about: info.about,
    choices: isChoice ? (info.values ?? []).map(({ nick, about }) => ({ name: nick, about })) : [],
    ...{ values: [], isExpression: false },
  };
}

function describeNative(info: PropertyInfo): string {
  if (info.kind === "enum") return "one of the values below";
  if (info.kind === "flags") return "values below, joined by +";
  if (info.kind === "opaque") return `${info.gtype}, not settable from a graph`;
  return `${info.kind}${describeRange(info.minimum, info.maximum)}`;
}

/** The limits of the number type do not limit the property. */
const isUnlimited = (value: number): boolean => Math.abs(value) >= 2 ** 63 || Math.abs(value) >= 3.4e38;

function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  const from = minimum === undefined || isUnlimited(minimum) ? null : minimum;
  const to = maximum === undefined || isUnlimited(maximum) ? null : maximum;
  if (from !== null && to !== null) return ` from ${from} to ${to}`;
  if (from !== null) return ` from ${from}`;
  return to === null ? "" : ` up to ${to}`;
}

export const showValue = (value: Json): string =>
  typeof value === "string" && value !== "" ? value : JSON.stringify(value);
