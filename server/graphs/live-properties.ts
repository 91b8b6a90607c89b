/** Properties that a client sets on a running graph: nothing that names something outside of it. */
import { findElementProperty } from "../../graphs/compiler/properties.ts";
import { reachOf } from "../../graphs/compiler/restrict.ts";
import type { ProcessGraph } from "../../schemas/api/graphs.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { type InputFault, ServiceError } from "../service-error.ts";
import type { GraphLibrary } from "./library.ts";

/** What alerts make of the process's rules would be undone, or undo it. */
const ALERTS = "alerts";
const RULES = "rules";
const USE_ALERTS =
  "is set by the alerts of the process; use POST /alert/{process_uuid}, PATCH and DELETE /alert/{alert_uuid}";

type Known = Pick<GraphLibrary, "elements" | "registry">;

/** Throws `invalid_input`. Of nodes and properties that are not there, the runner tells. */
export function expectInside(
  { segments }: Pick<ProcessGraph, "segments">,
  set: Readonly<Record<string, JsonRecord>>,
  known: Known,
): void {
  const elements = new Map(segments.flatMap(({ nodes }) => nodes.map(({ step, element }) => [step, element] as const)));
  const errors = Object.entries(set).flatMap(([node, properties]) => {
    const element = elements.get(node);
    if (element === undefined) return [];
    return Object.keys(properties).flatMap((property): readonly InputFault[] => {
      if (element === ALERTS && property === RULES) return [{ path: `/${node}/${property}`, message: USE_ALERTS }];
      if (!isThere(element, property, known) || reachOf(element, property, known) === "inside") return [];
      const message = "names something on the server, and cannot be set by clients";
      return [{ path: `/${node}/${property}`, message }];
    });
  });
  const [first] = errors;
  if (first !== undefined)
    throw new ServiceError("invalid_input", { detail: `${first.path} ${first.message}.`, errors });
}

function isThere(element: string, property: string, { elements, registry }: Known): boolean {
  const definition = elements.get(element);
  if (definition !== undefined) return findElementProperty(definition, property) !== undefined;
  return registry.get(element)?.properties[property] !== undefined;
}
