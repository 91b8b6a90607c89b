import type { Position } from "./plan.ts";

/** One thing wrong with a graph. `message` says what was found; the rest says what to do about it. */
export interface Fault {
  readonly code: FaultCode;
  readonly at: Position;
  readonly message: string;
  /** What would have been right, in words: `a number from 0 to 1`. */
  readonly expected?: string;
  /** The nearest right name, when one is near. */
  readonly suggestion?: string;
}

export type FaultCode =
  | "file_unreadable"
  | "file_too_large"
  | "yaml_syntax"
  | "yaml_too_complex"
  | "document_shape"
  | "unknown_graph"
  | "extends_cycle"
  | "unknown_param"
  | "missing_param"
  | "bad_param"
  | "unknown_element"
  | "unusable_element"
  | "unknown_property"
  | "bad_property"
  | "duplicate_name"
  | "unknown_node"
  | "chain_from_nowhere"
  | "cycle"
  | "not_linkable"
  | "missing_metadata"
  | "missing_source"
  | "launch_syntax";

/** `graphs/detect.yaml:12:7: unknown element "detct" (expected …; did you mean "detect"?)` */
export function formatFault(fault: Fault): string {
  const { file, line, column } = fault.at;
  const hints = [
    fault.expected === undefined ? null : `expected ${fault.expected}`,
    fault.suggestion === undefined ? null : `did you mean "${fault.suggestion}"?`,
  ].filter((hint) => hint !== null);
  return `${file ?? "launch"}:${line}:${column}: ${fault.message}${hints.length > 0 ? ` (${hints.join("; ")})` : ""}`;
}

/** More than these are no help to whoever reads them; the data has all. */
export const FAULTS_SHOWN = 20;

/** One line a fault; what goes beyond the limit is counted on a line of its own. */
export function formatFaults(faults: readonly Fault[], limit: number = FAULTS_SHOWN): string {
  const more = faults.length - limit;
  return [...faults.slice(0, limit).map(formatFault), ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

export class GraphFaults extends Error {
  override readonly name = "GraphFaults";
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super(formatFaults(faults));
    this.faults = faults;
  }
}
