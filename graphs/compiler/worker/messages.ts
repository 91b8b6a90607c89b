/** What the server asks of the thread that compiles, and is answered. Plain data: it is copied between threads. */
import type { JsonRecord } from "../../../schemas/json.ts";
import type { FactoryInfo } from "../../../schemas/registry.ts";
import type { Fault } from "../fault.ts";
import type { GraphPlan } from "../plan.ts";

/** What the thread is started with. */
export interface CompilerKnowledge {
  /** JSON of `FactoryInfo[]`: the whole registry. Text, since that is quicker to hand over than objects. */
  readonly factories: string;
  /** Where the installed graphs are, a `file:` URL; without it those of this checkout. */
  readonly folder: string | null;
}

export type Factories = readonly FactoryInfo[];

export interface PrepareRequest {
  readonly type: "prepare";
  /** Name of an installed graph; of another one only a label. */
  readonly graph: string;
  /** Of a graph that is not installed: it may use what is on the allow-list. */
  readonly text: string | null;
  readonly params: JsonRecord;
  /** Of these, what a client gives now: the others have been judged before. */
  readonly given: JsonRecord;
  /** A slot that is to be attached, with what a client gives for it. What is wrong with that is in `params` of a refusal. */
  readonly attach: { readonly slot: string; readonly params: JsonRecord } | null;
  /** Null: as if the graph were started on something that is not known yet. */
  readonly sourceUri: string | null;
  readonly models: readonly string[];
}

export type CompileRequest =
  | PrepareRequest
  | { readonly type: "list" }
  | { readonly type: "describe"; readonly graph: string }
  /** Of any text: what is wrong with it. */
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
  /** Faults of an installed graph: it cannot be started. */
  readonly faults: readonly Fault[];
}

export interface DescribedGraph extends GraphSummary {
  readonly text: string;
  readonly plan: GraphPlan | null;
}

export interface PreparedGraph {
  readonly plan: GraphPlan;
}

/** Something wrong with what a client gave. */
export interface ParamFault {
  /** Keys from `params` down to the wrong value. */
  readonly path: readonly string[];
  readonly message: string;
}

export interface Refusal {
  readonly params: readonly ParamFault[];
  readonly graph: readonly Fault[];
}

/** `absent`: no such graph is installed; the names of those that are. */
export type CompileAnswer =
  | { readonly type: "listed"; readonly graphs: readonly GraphSummary[] }
  | { readonly type: "described"; readonly graph: DescribedGraph }
  | { readonly type: "prepared"; readonly prepared: PreparedGraph }
  | { readonly type: "validated"; readonly faults: readonly Fault[] }
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "absent"; readonly installed: readonly string[] };
