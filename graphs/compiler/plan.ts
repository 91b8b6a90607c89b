/** The plan that the compiler produces and the runtime runs: plain frozen data that can be compared and printed. */
import type { SourceBinding } from "../../elements/element.ts";
import type { NodeVariables } from "../../schemas/expression.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";

/** A position in the author's text. `file` is null for launch lines; lines and columns count from 1. */
export interface Position {
  readonly file: string | null;
  readonly line: number;
  readonly column: number;
  /** Of text in a part: where the part is used. */
  readonly usedAt?: Position;
}

export interface PlanNode {
  /** Unique in the plan. Nodes of a composite are `author.suffix`, or `author` alone when there is only one. */
  readonly name: string;
  /** Name of the author's step, and its element. */
  readonly author: string;
  readonly element: string;
  readonly kind: "native" | "typescript";
  /** GStreamer factory; for TypeScript elements the element's name. */
  readonly factory: string;
  /** kebab-case names, values as in a graph; only those that are set. */
  readonly properties: JsonRecord;
  /** Positions of the properties that the author wrote; others come from an expansion or the compiler. */
  readonly origins?: Readonly<Record<string, PropertyOrigin>>;
  readonly at: Position;
  /** Variables of the expressions in its properties. */
  readonly variables?: NodeVariables;
}

export interface PropertyOrigin {
  readonly at: Position;
  /** Parameters of the graph or slot in the value. */
  readonly params: readonly string[];
}

export interface PlanLink {
  readonly from: string;
  /** A pad name or request template (`src_%u`); absent: any that fits. */
  readonly fromPad?: string;
  readonly to: string;
  readonly toPad?: string;
  /** Selects a sometimes pad by its caps. */
  readonly caps?: string;
}

/** A composite (bin) with code of its own while the graph runs. */
export interface PlanDriver {
  readonly author: string;
  readonly element: string;
  /** camelCase, validated, defaults filled in. */
  readonly properties: JsonRecord;
}

/** Nodes that are attached and detached together: main, or a branch. */
export interface PlanSegment {
  /** `main`, the chain's name, or for an attached slot `slot:instance`. */
  readonly name: string;
  /** The tee it is attached to; null for main. The first of `links` starts there. */
  readonly tee: string | null;
  readonly nodes: readonly PlanNode[];
  readonly links: readonly PlanLink[];
  readonly drivers: readonly PlanDriver[];
}

export interface GraphPlan {
  readonly graph: string;
  readonly about: string;
  readonly file: string | null;
  /** Effective parameters, defaults filled in. */
  readonly params: JsonRecord;
  /** Parameters that are mutable while PLAYING: declared `live`, and used only by mutable properties. */
  readonly liveParams: readonly string[];
  /** Declared `live`, but not mutable while PLAYING: the reason, by parameter. */
  readonly fixedParams: Readonly<Record<string, string>>;
  /** Frames arrive in real time; late ones may be dropped. */
  readonly live: boolean;
  readonly source: (SourceBinding & { readonly pace: "realtime" | "fast" }) | null;
  readonly main: PlanSegment;
  /** Chains that start at a tee of main, in the order written. */
  readonly branches: readonly PlanSegment[];
  /** Slots (dynamic branches), with the JSON Schema of their parameters. */
  readonly slots: Readonly<Record<string, JsonRecord>>;
  /** The tee that each slot is attached to. */
  readonly slotTees: Readonly<Record<string, string>>;
  /** Factories that autoplugging prefers. */
  readonly prefer: readonly string[];
  /** Names of its TypeScript elements and its slots, sorted. */
  readonly offers: readonly string[];
}

/** One step of the change from one plan to another. */
export type PlanChange =
  | {
      readonly label: "live";
      readonly node: string;
      /** The author's name of the node, for messages. */
      readonly author: string;
      readonly property: string;
      readonly from: Json | undefined;
      readonly to: Json | undefined;
    }
  | { readonly label: "branch"; readonly action: "attach" | "detach"; readonly segment: string }
  | { readonly label: "relaunch"; readonly reason: string };
