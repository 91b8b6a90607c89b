/** Checks properties that a client sets on a running graph: none may refer to files or hosts. */
import { findElementProperty } from "../../graphs/compiler/properties.ts";
import { reachOf } from "../../graphs/compiler/restrict.ts";
import type { ProcessGraph } from "../../schemas/api/graphs.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { GraphLibrary } from "./library.ts";

/** Rules are managed by the alerts of the process: setting them here would conflict. */
const ALERTS = "alerts";
const RULES = "rules";
const USE_ALERTS =
  "is set by the alerts of the process; use POST /alert/{process_uuid}, PATCH and DELETE /alert/{alert_uuid}";

type KnownElements = Pick<GraphLibrary, "elements" | "registry">;

/** Throws `invalid_input`. The runner reports unknown nodes and properties. */
export function expectInside(
  { segments, params }: Pick<ProcessGraph, "segments" | "params">,
  set: Readonly<Record<string, JsonRecord>>,
  known: KnownElements,
): void {
  const elements = new Map(segments.flatMap(({ nodes }) => nodes.map(({ step, element }) => [step, element] as const)));
  const errors = Object.entries(set).flatMap(([node, properties]) => {
    const element = elements.get(node);
    if (element === undefined) return [];
    return Object.keys(properties).flatMap((property): readonly InputFault[] => {
      if (element === ALERTS && property === RULES) return [{ path: `/${node}/${property}`, message: USE_ALERTS }];
      if (!exists(element, property, known) || reachOf(element, property, known) === "inside") return [];
      const instead = Object.hasOwn(params, property) ? `; params.${property} of POST /start chooses it` : "";
      const message = `refers to something on the server and cannot be set by clients${instead}`;
      return [{ path: `/${node}/${property}`, message }];
    });
  });
  const [first] = errors;
  if (first !== undefined)
    throw new ServiceError("invalid_input", { detail: `${first.path} ${first.message}.`, errors });
}

function exists(element: string, property: string, { elements, registry }: KnownElements): boolean {
  const definition = elements.get(element);
  if (definition !== undefined) return findElementProperty(definition, property) !== undefined;
  return registry.get(element)?.properties[property] !== undefined;
}
