/** Properties of elements, whoever wrote the element, in the one form in which `inspect` shows them. */
import type { TSchema } from "typebox";
import type { AnyElement } from "../../../elements/element.ts";
import type { Json, PropertySchema } from "../../../schemas/json.ts";
import { kebab } from "../../../schemas/names.ts";
import type { FactoryInfo, PropertyInfo } from "../../../schemas/registry.ts";

export interface ShownProperty {
  readonly name: string;
  /** `integer from 0 to 100`, `one of h264, h265`. */
  readonly type: string;
  /** As a graph would have it; undefined when there is none. */
  readonly default: Json | undefined;
  readonly required: boolean;
  readonly live: boolean;
  readonly readOnly: boolean;
  readonly deprecated: boolean;
  readonly about: string;
  readonly choices: readonly { readonly name: string; readonly about: string }[];
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
  };
}

function describeSchema(facts: PropertySchema): string {
  if (facts.enum !== undefined) return `one of ${facts.enum.map(showValue).join(", ")}`;
  if (facts.const !== undefined) return showValue(facts.const);
  if (facts.anyOf !== undefined) return facts.anyOf.map(describeSchema).join(", or ");
  if (facts.items !== undefined) return `list: ${describeSchema(facts.items)}`;
  const type = [facts.type ?? "any value"].flat().join(" or ");
  return `${type}${describeRange(facts.minimum, facts.maximum)}`;
}

/** Without those that every element has for GStreamer's own use. */
export const propertiesOfFactory = ({ properties }: FactoryInfo): readonly ShownProperty[] =>
  Object.entries(properties)
    .filter(([name]) => name !== "name" && name !== "parent")
    .map(([name, info]) => fromRegistry(name, info));

/** Of pads with properties of their own, named as a graph has them: `sink_%u::xpos`. */
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
  };
}

function describeNative(info: PropertyInfo): string {
  if (info.kind === "enum") return "one of the values below";
  if (info.kind === "flags") return "values below, joined by +";
  if (info.kind === "opaque") return `${info.gtype}, not settable from a graph`;
  return `${info.kind}${describeRange(info.minimum, info.maximum)}`;
}

/** The limits of the machine's own number types are no limits of the property. */
const isEndless = (value: number): boolean => Math.abs(value) >= 2 ** 63 || Math.abs(value) >= 3.4e38;

function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  const from = minimum === undefined || isEndless(minimum) ? null : minimum;
  const to = maximum === undefined || isEndless(maximum) ? null : maximum;
  if (from !== null && to !== null) return ` from ${from} to ${to}`;
  if (from !== null) return ` from ${from}`;
  return to === null ? "" : ` up to ${to}`;
}

export const showValue = (value: Json): string =>
  typeof value === "string" && value !== "" ? value : JSON.stringify(value);
