/** What can be tuned in a graph: properties of its detector, through parameters of the graph where it has them. */
import { UsageFault } from "../../../cli/command.ts";
import type { AnyElement } from "../../../elements/element.ts";
import type { PlanNode } from "../../../graphs/compiler/plan.ts";
import { quoteShell } from "../../../graphs/compiler/plan-to-text.ts";
import { coerceText, validate } from "../../../graphs/compiler/schema-check.ts";
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import { didYouMean } from "../../../schemas/suggest.ts";
import type { Changes, WatchedGraph } from "../watched-graph.ts";

export const KNOB_NAMES = ["model", "every", "threads", "tiles"] as const;
export type KnobName = (typeof KNOB_NAMES)[number];

export interface Knob {
  readonly name: KnobName;
  /** The detector. */
  readonly node: string;
  /** The parameter that sets the property; null: the property itself is set. */
  readonly param: string | null;
  /** Different ones, the graph's own first; null: not set. */
  readonly values: readonly Json[];
}

/** A value for each knob. */
export type Setting = Readonly<Partial<Record<KnobName, Json>>>;

/** Values of a knob, named by the user or by default. */
export const MOST_VALUES = 8;
const EVERY: readonly Json[] = ["auto", 2, 3, 5];
const TILES: readonly Json[] = [{ columns: 2, rows: 2 }];

export interface KnobOptions {
  /** Models to choose from. */
  readonly models: readonly string[];
  readonly cores: number;
  /** `every=2,4`: only these knobs, with these values. */
  readonly tries: readonly string[];
  /** Parameters that the user has chosen: they stay as they are. */
  readonly fixed: readonly string[];
}

/** Throws `UsageFault` for a graph without a detector or with several, and if nothing can be tuned. */
export function listKnobs(
  graph: Pick<WatchedGraph, "nodes" | "plan" | "paramSchema">,
  detect: AnyElement,
  options: KnobOptions,
): readonly Knob[] {
  const node = findDetector(graph);
  const tries = readTries(options.tries, detect);
  const usual: Readonly<Record<KnobName, readonly Json[]>> = {
    model: options.models,
    every: EVERY,
    threads: [1, 2, 4, 8, 16].filter((threads) => threads <= options.cores),
    tiles: TILES,
  };
  const knobs = KNOB_NAMES.flatMap((name): Knob[] => {
    if (tries.size > 0 && !tries.has(name)) return [];
    const param = paramOf(node, name);
    if (param === undefined || (param !== null && options.fixed.includes(param))) return [];
    const current = node.properties[name] ?? defaultOf(detect, name);
    const schema = param === null ? schemaOf(detect, name) : schemaIn(graph.paramSchema, param);
    const fits = (value: Json): boolean => value === null || validate(schema, value).length === 0;
    const values = unique([current, ...(tries.get(name) ?? usual[name])].filter(fits)).slice(0, MOST_VALUES);
    return values.length > 1 ? [{ name, node: node.author, param, values }] : [];
  });
  if (knobs.length > 0) return knobs;
  throw new UsageFault(
    `nothing to tune in the graph "${graph.plan.graph}": every one of ${KNOB_NAMES.join(", ")} is given or has one value`,
  );
}

function findDetector({ nodes, plan }: Pick<WatchedGraph, "nodes" | "plan">): PlanNode {
  const [node, second] = nodes.filter(({ element }) => element === "detect");
  if (node !== undefined && second === undefined) return node;
  const found = node === undefined ? "none" : "several";
  throw new UsageFault(
    `tune needs one element \`detect\` outside of slots, and the graph "${plan.graph}" has ${found}`,
  );
}

/** Undefined: the value is an expression, which cannot be set by one parameter. */
function paramOf({ properties, origins }: PlanNode, name: KnobName): string | null | undefined {
  const params = origins?.[name]?.params ?? [];
  if (params.length === 0) return null;
  const [param] = params;
  return params.length === 1 && properties[name] !== undefined ? param : undefined;
}

const schemaOf = (element: AnyElement, name: KnobName): object => schemaIn(element.properties as JsonRecord, name);
const schemaIn = (schema: JsonRecord, name: string): object =>
  ((schema.properties ?? {}) as Readonly<Record<string, object>>)[name] ?? {};
const defaultOf = (element: AnyElement, name: KnobName): Json =>
  (schemaOf(element, name) as { readonly default?: Json }).default ?? null;

function unique(values: readonly Json[]): readonly Json[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

function readTries(texts: readonly string[], detect: AnyElement): ReadonlyMap<KnobName, readonly Json[]> {
  const tries = new Map<KnobName, readonly Json[]>();
  for (const text of texts) {
    const [word = "", list = ""] = text.split(/=(.*)/s);
    const name = KNOB_NAMES.find((known) => known === word);
    if (name === undefined)
      throw new UsageFault(
        `--try has "${word}"; expected name=value,… of ${KNOB_NAMES.join(", ")}${didYouMean(word, KNOB_NAMES)}`,
      );
    const values = list.split(",").map((value) => readValue(name, value.trim(), detect));
    if (values.length > MOST_VALUES)
      throw new UsageFault(`--try ${name} has ${values.length} values; expected up to ${MOST_VALUES}`);
    tries.set(name, values);
  }
  return tries;
}

function readValue(name: KnobName, text: string, detect: AnyElement): Json {
  const [, columns, rows] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  const value =
    name === "tiles" && columns !== undefined
      ? { columns: Number(columns), rows: Number(rows) }
      : coerceText(text, schemaOf(detect, name));
  const [fault] = validate(schemaOf(detect, name), value);
  if (fault === undefined && text !== "") return value;
  throw new UsageFault(
    `--try ${name} has "${text}"; expected ${name === "tiles" ? "columns and rows, as in 2x2" : "a value of the property: `windhover inspect detect`"}`,
  );
}

/** The setting of the graph itself. */
export const ownSetting = (knobs: readonly Knob[]): Setting =>
  Object.fromEntries(knobs.map(({ name, values }) => [name, values[0] ?? null]));

/** Only what differs from the graph. */
export function toChanges(setting: Setting, knobs: readonly Knob[]): Changes {
  const params: Record<string, Json> = {};
  const set: Record<string, Record<string, Json>> = {};
  for (const { name, node, param, values } of knobs) {
    const value = setting[name] ?? null;
    if (isSame(value, values[0] ?? null)) continue;
    if (param !== null) params[param] = value;
    else set[node] = { ...set[node], [name]: value };
  }
  return { params, set };
}

export const isSame = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);
export const keyOf = (setting: Setting): string => JSON.stringify(KNOB_NAMES.map((name) => setting[name] ?? null));

/** `model=quality every=2` */
export const formatSetting = (setting: Setting): string =>
  KNOB_NAMES.flatMap((name) => (setting[name] === undefined ? [] : [`${name}=${formatValue(setting[name])}`])).join(
    " ",
  );

/** Parameters as words of a command line. */
export const formatParams = (params: JsonRecord): readonly string[] =>
  Object.entries(params).map(([name, value]) =>
    quoteShell(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`),
  );

function formatValue(value: Json | undefined): string {
  if (value === null || value === undefined) return "none";
  if (typeof value !== "object" || Array.isArray(value)) return String(value);
  return "columns" in value ? `${value.columns}x${value.rows}` : JSON.stringify(value);
}
