/**
 * Writes the JSON Schemas for editors and other programs, `schemas/*.schema.json`.
 * `--check` writes nothing, lists outdated files and exits with 1.
 */
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { type TSchema, Type } from "typebox";
import type { AnyElement } from "../elements/element.ts";
import { loadElements } from "../elements/index.ts";
import { CapsStep, FromStep, graphSchema, NODE_PROPERTIES, ToStep, UseStep } from "./graph.ts";
import { canonicalJson } from "./json.ts";
import { kebab } from "./names.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** A parameter can replace any value. */
const ParamReference = Type.String({ pattern: "^\\$", description: "A parameter: `$name`." });

function stepSchema(elements: readonly AnyElement[]): TSchema {
  const known = elements.map((element) => element.name);
  return Type.Union([
    Type.Union(elements.map((element) => Type.Literal(element.name, { description: element.about }))),
    Type.String({ pattern: "^[A-Za-z]", description: "Name of an element without properties: `queue`." }),
    FromStep,
    ToStep,
    CapsStep,
    UseStep,
    ...elements.map(elementStep),
    nativeStep([...known, "from", "to", "caps", "use"]),
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
  const main = element.main === undefined ? [] : [declared[element.main] ?? Type.String()];
  const value = Type.Union([body, Type.Null(), ...main], { description: element.about });
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

/** File name → text, with sorted keys for small diffs. */
async function renderSchemas(): Promise<ReadonlyMap<string, string>> {
  const elements = [...(await loadElements()).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const step = Type.Unsafe<unknown>({ $ref: "#/$defs/step" });
  const graph = { $schema: DIALECT, ...graphSchema(step), $defs: { step: stepSchema(elements) } };
  return new Map([["graph.schema.json", `${canonicalJson(graph, 2)}\n`]]);
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
