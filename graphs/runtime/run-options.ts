/** What a running graph needs from its owner. */
import type { AnyElement, TracedWork } from "../../elements/element.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Registry } from "../../schemas/registry.ts";
import type { PlanSegment } from "../compiler/plan.ts";
import type { GraphEvent, GraphState } from "./events.ts";
import type { SlotRequest } from "./slots.ts";

/** What a graph has from its first pipeline on. */
export interface BuiltGraph {
  readonly state: GraphState;
  /** The current one; a relaunch creates another. */
  readonly pipeline: Pipeline;
  segments(): readonly PlanSegment[];
}

export interface RunOptions {
  readonly elements: ReadonlyMap<string, AnyElement>;
  readonly registry: Registry;
  /** Called in order, never concurrently; must not block. */
  onEvent?(event: GraphEvent): void;
  /** Output of `print` and similar elements; resolves when more may be written. */
  print?(line: string): Promise<void>;
  /** Messages of `detections` and similar elements; resolves when more may be sent. Default: printed as lines of JSON. */
  send?(node: string, channel: string, message: JsonRecord): Promise<void>;
  /** Of the process; default all zeros. */
  readonly uuid?: string;
  /** Name of the source in messages. Default: the URI without credentials. */
  readonly sourceUri?: string;
  /** Images of `feed`; returns false when one was dropped. Default: none, which the element reports. */
  show?(node: string, captureNs: bigint, bytes: Uint8Array): boolean;
  /** Work of threads of elements, such as inference. Default: not measured. */
  trace?(node: string, work: TracedWork): void;
  /** The state of a node, for a runner that replaces this one. Default: none does. */
  keep?(node: string, state: string): void;
  /** What a node kept last, here or in the runner before. */
  kept?(node: string): string | null;
  /** Id of the first object, default 1. A restarted process continues above its highest id. */
  readonly firstTrackId?: number;
  /** Start position in a file at pace `realtime`; no earlier frame is processed. Default 0. */
  readonly fromNs?: bigint;
  /** The operator's terrain files. Default: none. */
  readonly terrainFolder?: string | null;
  /** The graph ends when a live source is unavailable for this long. Default: the property of the step. */
  readonly giveUpSeconds?: number;
  /** The graph ends when a handler blocks frames for this long. Default: only logged. */
  readonly frameLimitMs?: number;
  /** Unix time of the stream's beginning. Default: now, or 0 at pace `fast`, which must not depend on the clock. */
  readonly epochNs?: bigint;
  /** At the end of the stream: whether it starts again, as after a change that needs a relaunch. Default: it does not. */
  repeat?(): boolean;
  /** Aborting closes everything at once, in any state, without waiting for pending work. */
  readonly signal?: AbortSignal;
  /** Slots to attach before the first frame. */
  readonly attach?: readonly SlotRequest[];
  /** Messages for listening elements, before the first frame; repeated at a relaunch. */
  readonly deliver?: readonly { readonly channel: string; readonly message: JsonRecord }[];
  /**
   * The pipeline is built, slots are attached, and it is about to play: the moment for limits, taps and grabs. Repeated at
   * a relaunch. `origins` are the nodes that video frames come from; `graph` outlives the pipeline.
   */
  onBuilt?(pipeline: Pipeline, segments: readonly PlanSegment[], origins: readonly string[], graph: BuiltGraph): void;
  /** The stream has ended and the pipeline is about to close: the moment for last readings. */
  onClosing?(pipeline: Pipeline, positionNs: bigint | null): void;
}
