/**
 * Writes the JSON Schemas that editors and other programs read, `schemas/*.schema.json`.
 * `--check` writes nothing, names what is out of date and exits 1.
 */
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { type TSchema, Type } from "typebox";
import type { AnyElement } from "../elements/element.ts";
import { loadElements } from "../elements/index.ts";
import { CapsStep, FromStep, graphSchema, NODE_PROPERTIES, ToStep } from "./graph.ts";
import { kebab } from "./names.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** In place of any value a parameter may stand. */
const ParamReference = Type.String({ pattern: "^\\$", description: "A parameter: `$name`." });

export function stepSchema(elements: readonly AnyElement[]): TSchema {
  const known = elements.map((element) => element.name);
  return Type.Union([
    Type.Union(elements.map((element) => Type.Literal(element.name, { description: element.about }))),
    Type.String({ pattern: "^[A-Za-z]", description: "An element without properties, by its name: `queue`." }),
    FromStep,
    ToStep,
    CapsStep,
    ...elements.map(elementStep),
    nativeStep([...known, "from", "to", "caps"]),
  ]);
}

function elementStep(element: AnyElement): TSchema {
  const declared: Readonly<Record<string, TSchema & { default?: unknown }>> = element.properties.properties;
  const required: readonly string[] = element.properties.required ?? [];
  const properties = Object.entries(declared).map(([name, schema]): [string, TSchema] => {
    const value = Type.Union([schema, ParamReference], describe(schema));
    return [kebab(name), required.includes(name) && schema.default === undefined ? value : Type.Optional(value)];
  });
  const body = Type.Object({ ...Object.fromEntries(properties), ...NODE_PROPERTIES }, { additionalProperties: false });
  const value = Type.Union([body, Type.Null()], { description: element.about });
  return Type.Object({ [element.name]: value }, { additionalProperties: false, description: element.about });
}

const describe = (schema: object): { description?: string } =>
  "description" in schema && typeof schema.description === "string" ? { description: schema.description } : {};

function nativeStep(taken: readonly string[]): TSchema {
  const value = Type.Union([Type.Object(NODE_PROPERTIES), Type.Null()]);
  return Type.Record(Type.String(), value, {
    minProperties: 1,
    maxProperties: 1,
    propertyNames: { not: { enum: taken } },
    description: "A GStreamer element with its properties: `queue: { max-size-buffers: 8 }`.",
  });
}

/** File name → text, with sorted keys so that a change in a schema is a change of the same lines in the file. */
export async function renderSchemas(): Promise<ReadonlyMap<string, string>> {
  const elements = [...(await loadElements()).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const step = Type.Unsafe<unknown>({ $ref: "#/$defs/step" });
  const graph = { $schema: DIALECT, ...graphSchema(step), $defs: { step: stepSchema(elements) } };
  return new Map([["graph.schema.json", `${JSON.stringify(sortKeys(graph), null, 2)}\n`]]);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]));
}

async function main(checking: boolean): Promise<void> {
  for (const [name, text] of await renderSchemas()) {
    const file = new URL(name, import.meta.url);
    const published = await readFile(file, "utf8").catch(() => null);
    if (published === text) continue;
    if (checking) {
      console.error(`schemas/${name} is out of date: run \`npm run generate\` and commit it`);
      process.exitCode = 1;
    } else {
      await writeFile(file, text);
      console.log(`schemas/${name} written`);
    }
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(process.argv.includes("--check"));
}
