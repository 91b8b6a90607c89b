import type { Position } from "./plan.ts";

/** An error in a graph. `message` says what was found, the rest how to fix it. */
export interface Fault {
  readonly code: FaultCode;
  readonly at: Position;
  readonly message: string;
  /** A valid value in words: `a number from 0 to 1`. */
  readonly expected?: string;
  /** The most similar valid name, if there is one. */
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
  | "unknown_part"
  | "part_cycle"
  | "unknown_param"
  | "missing_param"
  | "bad_param"
  | "unknown_element"
  | "unusable_element"
  | "unknown_property"
  | "bad_property"
  | "bad_expression"
  | "duplicate_name"
  | "unknown_node"
  | "chain_from_nowhere"
  | "cycle"
  | "not_linkable"
  | "missing_metadata"
  | "missing_source"
  | "launch_syntax";

/** `graphs/detect.yaml:12:7: unknown element "detct" (expected …; did you mean "detect"?), used at …` */
export function formatFault(fault: Fault): string {
  const { file, line, column } = fault.at;
  const hints = [
    fault.expected === undefined ? null : `expected ${fault.expected}`,
    fault.suggestion === undefined ? null : `did you mean "${fault.suggestion}"?`,
  ].filter((hint) => hint !== null);
  const uses = usesOf(fault.at).map((at) => `${at.file}:${at.line}`);
  const used = uses.length > 0 ? `, used at ${uses.join(", ")}` : "";
  return `${file ?? "launch"}:${line}:${column}: ${fault.message}${hints.length > 0 ? ` (${hints.join("; ")})` : ""}${used}`;
}

/** Where the part around a position is used, innermost use first. */
export const usesOf = ({ usedAt }: Position): readonly Position[] =>
  usedAt === undefined ? [] : [usedAt, ...usesOf(usedAt)];

/** The text of `GraphFaults` has these at most; `faults` has all. */
const FAULTS_SHOWN = 20;

/** One line per fault; the last line counts those beyond the limit. */
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

interface Hints {
  readonly expected?: string | undefined;
  readonly suggestion?: string | undefined;
}

/**
 * Collects faults without duplicates and sorts them in text order, files in the order of their first fault. The same fault
 * in several uses of a part is reported once, with the first use.
 */
export class FaultList {
  readonly #faults = new Map<string, Fault>();
  readonly #files: (string | null)[] = [];

  constructor(file: string | null) {
    this.#files.push(file);
  }

  add(code: FaultCode, at: Position, message: string, hints: Hints = {}): void {
    if (!this.#files.includes(at.file)) this.#files.push(at.file);
    const fault: Fault = {
      code,
      at,
      message,
      ...(hints.expected === undefined ? {} : { expected: hints.expected }),
      ...(hints.suggestion === undefined ? {} : { suggestion: hints.suggestion }),
    };
    const key = `${at.file}\n${at.line}:${at.column} ${code} ${message}`;
    if (!this.#faults.has(key)) this.#faults.set(key, fault);
  }

  addAll(faults: readonly Fault[]): void {
    for (const fault of faults) this.add(fault.code, fault.at, fault.message, fault);
  }

  get size(): number {
    return this.#faults.size;
  }

  sorted(): readonly Fault[] {
    const fileOrder = (fault: Fault) => this.#files.indexOf(fault.at.file);
    return [...this.#faults.values()].sort(
      (a, b) => fileOrder(a) - fileOrder(b) || a.at.line - b.at.line || a.at.column - b.at.column,
    );
  }
}
