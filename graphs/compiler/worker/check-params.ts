/** What a client gives as parameters of a graph, held against what the graph declares. */
import type { Json, JsonRecord } from "../../../schemas/json.ts";
import { didYouMean } from "../../../schemas/suggest.ts";
import { describeSchema } from "../describe.ts";
import { validate } from "../schema-check.ts";
import type { ParamFault } from "./messages.ts";

/** Bound by the server, whatever a graph calls its own parameters. */
const BOUND = ["source", "uri"];

/**
 * `schema` as the compiler makes it of the parameters of a graph or slot. One entry for every fault.
 */
export function checkParams(
  schema: JsonRecord,
  given: JsonRecord,
  owner: "graph" | "slot" = "graph",
): readonly ParamFault[] {
  const declared = (schema.properties ?? {}) as Readonly<Record<string, JsonRecord>>;
  const names = Object.keys(declared);
  const required = (schema.required ?? []) as readonly string[];
  return [
    ...Object.entries(given).flatMap(([name, value]) => checkParam(name, value, declared, owner)),
    ...required
      .filter((name) => !Object.hasOwn(given, name))
      .map((name) => ({ path: [name], message: `is missing; expected ${describeSchema(declared[name])}` })),
  ].map((fault) =>
    names.length === 0 ? { ...fault, message: `${fault.message}; this ${owner} has no params` } : fault,
  );
}

function checkParam(
  name: string,
  value: Json,
  declared: Readonly<Record<string, JsonRecord>>,
  owner: "graph" | "slot",
): readonly ParamFault[] {
  const names = Object.keys(declared);
  if (owner === "graph" && BOUND.includes(name))
    return [{ path: [name], message: "cannot be a param: the source is the one that source_uuid names; leave it out" }];
  if (!Object.hasOwn(declared, name)) {
    const hint = didYouMean(name, names);
    return [
      {
        path: [name],
        message: `is no param of this ${owner}${hint}${names.length > 0 ? `; there are ${names.join(", ")}` : ""}`,
      },
    ];
  }
  return validate(declared[name] ?? {}, value).map(({ path, found, expected }) => ({
    path: [name, ...path],
    message: `is ${found}; expected ${expected}`,
  }));
}
