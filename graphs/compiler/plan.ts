/**
 * What the compiler makes and the runtime runs: plain frozen data. Two plans can be compared, a plan can be printed,
 * and running one needs no further decision.
 */
import type { Json, JsonRecord } from "../../schemas/json.ts";

/** Where in the author's text a thing was written. `file` is null for launch lines; lines and columns count from 1. */
export interface Position {
  readonly file: string | null;
  readonly line: number;
  readonly column: number;
}

export interface PlanNode {
  /** Unique in the plan. Nodes of a composite are `author.suffix`, or `author` alone when there is only one. */
  readonly name: string;
  /** Name of the step the author wrote, and the element it names. */
  readonly author: string;
  readonly element: string;
  readonly kind: "native" | "typescript";
  /** GStreamer factory; for TypeScript elements the element's name. */
  readonly factory: string;
  /** kebab-case names, values as the author would write them; only what differs from nothing being said. */
  readonly properties: JsonRecord;
  /** Where each property was written; those that an element's expansion or the compiler set are not in it. */
  readonly origins?: Readonly<Record<string, PropertyOrigin>>;
  readonly at: Position;
}

export interface PropertyOrigin {
  readonly at: Position;
  /** Parameters of the graph or slot that the value comes from. */
  readonly params: readonly string[];
}

export interface PlanLink {
  readonly from: string;
  /** A pad name or request template (`src_%u`); absent: whichever fits. */
  readonly fromPad?: string;
  readonly to: string;
  readonly toPad?: string;
  /** For pads that appear while running: take the one with these caps. */
  readonly caps?: string;
}

/** A composite with work to do while the graph runs. */
export interface PlanDriver {
  readonly author: string;
  readonly element: string;
  /** camelCase, validated, defaults filled in. */
  readonly properties: JsonRecord;
}

/** Nodes that come and go together. */
export interface PlanSegment {
  /** `main`, the chain's name, or for an attached slot `slot:instance`. */
  readonly name: string;
  /** The tee it hangs on; null for main. The first of `links` is the one from it. */
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
  /** Those that can change while PLAYING: declared `live`, and so is everything that takes their value. */
  readonly liveParams: readonly string[];
  /** Declared `live`, and why they cannot change while PLAYING. */
  readonly fixedParams: Readonly<Record<string, string>>;
  /** Frames come at the pace of the world: late ones may be dropped. */
  readonly live: boolean;
  readonly source: { readonly uri: string; readonly pace: "realtime" | "fast" } | null;
  readonly main: PlanSegment;
  /** Chains that hang on a tee of main, in the order written. */
  readonly branches: readonly PlanSegment[];
  /** Slots that can be attached, with the JSON Schema of their parameters. */
  readonly slots: Readonly<Record<string, JsonRecord>>;
  /** The tee that each slot hangs on. */
  readonly slotTees: Readonly<Record<string, string>>;
  /** Factories to prefer over others when GStreamer chooses by itself. */
  readonly prefer: readonly string[];
  /** What the graph offers: names of its TypeScript elements and of its slots, sorted. */
  readonly offers: readonly string[];
}

/** One difference between two plans, and what it takes to get from one to the other. */
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
