/** Requests of the server to the compiler's worker thread, and its answers. Plain data, copied between threads. */
import type { JsonRecord } from "../../../schemas/json.ts";
import type { GraphTest } from "../document.ts";
import type { Fault } from "../fault.ts";
import type { GraphPlan } from "../plan.ts";
import type { UsableModel } from "../restrict.ts";

/** `workerData` of the thread. */
export interface CompilerKnowledge {
  /** Of `RegistryFile`. */
  readonly registryFd: number;
  /** `file:` URL of the installed graphs; null: those of this checkout and of `schemas/folders.ts`. */
  readonly folder: string | null;
  /** Elements that the operator allows in graphs of clients, besides the reviewed ones. */
  readonly authorElements: readonly string[];
}

export interface PrepareRequest {
  readonly type: "prepare";
  /** Name of an installed graph; of another one only a label. */
  readonly graph: string;
  /** Of a graph that is not installed; limited to the allow-list. */
  readonly text: string | null;
  readonly params: JsonRecord;
  /** Those of `params` that a client gives with this request; the others have been checked before. */
  readonly given: JsonRecord;
  /** A slot to attach, with a client's parameters for it. Their faults are in `params` of a refusal. */
  readonly attach: { readonly slot: string; readonly params: JsonRecord } | null;
  /** Null: the source is not known yet. */
  readonly sourceUri: string | null;
  /** The source is a file that starts again at its end. */
  readonly sourceLoops: boolean;
  readonly models: readonly UsableModel[];
}

export type CompileRequest =
  | PrepareRequest
  | { readonly type: "names" }
  | { readonly type: "list" }
  | { readonly type: "describe"; readonly graph: string }
  /** A client's own graph of this name: limited to the allow-list. */
  | {
      readonly type: "describe-own";
      readonly graph: string;
      readonly text: string;
      readonly models: readonly UsableModel[];
    }
  /** The tests of an installed graph, or of the text of a client. */
  | { readonly type: "tests"; readonly graph: string; readonly text: string | null }
  /** Digests of installed graphs. */
  | { readonly type: "digests"; readonly graphs: readonly string[] }
  /** Faults of any text. */
  | { readonly type: "validate"; readonly text: string };

export interface GraphSummary {
  readonly name: string;
  readonly about: string;
  /** JSON Schema. */
  readonly params: JsonRecord;
  /** Names of parameters that clients may not set. */
  readonly reserved: readonly string[];
  readonly offers: readonly string[];
  readonly slots: Readonly<Record<string, JsonRecord>>;
  /** A graph with faults cannot be started. */
  readonly faults: readonly Fault[];
}

export interface DescribedGraph extends GraphSummary {
  readonly text: string;
  readonly plan: GraphPlan | null;
}

/** Of a client. */
export interface DescribedOwn extends DescribedGraph {
  /** Digests of the installed graphs that it extends or uses parts of. */
  readonly bases: Readonly<Record<string, string>>;
}

interface PreparedGraph {
  readonly plan: GraphPlan;
  /** Names of models in the graph and its slots. */
  readonly models: readonly string[];
}

/** A fault in a client's parameters. */
export interface ParamFault {
  /** Keys from `params` down to the wrong value. */
  readonly path: readonly string[];
  readonly message: string;
}

/** As plain data: without functions. */
export interface FoundTest extends GraphTest {
  /** The path of its clip beside an installed graph; null when the clip is something else, or missing. */
  readonly clipFile: string | null;
}

export interface Refusal {
  readonly params: readonly ParamFault[];
  readonly graph: readonly Fault[];
}

/** `absent`: the graph is not installed; `installed` names those that are. */
export type CompileAnswer =
  | { readonly type: "named"; readonly names: readonly string[] }
  | { readonly type: "listed"; readonly graphs: readonly GraphSummary[] }
  | { readonly type: "described"; readonly graph: DescribedGraph }
  | { readonly type: "described-own"; readonly graph: DescribedOwn }
  /** Null: it is not installed. */
  | { readonly type: "digests"; readonly digests: Readonly<Record<string, string | null>> }
  | { readonly type: "prepared"; readonly prepared: PreparedGraph }
  | { readonly type: "tests"; readonly tests: readonly FoundTest[]; readonly faults: readonly Fault[] }
  | { readonly type: "validated"; readonly faults: readonly Fault[] }
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "absent"; readonly installed: readonly string[] };
