/** What a running graph tells whoever runs it. */
import type { ElementEvent } from "../../elements/element.ts";
import { framesOf } from "../../elements/source-lines.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { PlanChange } from "../compiler/plan.ts";

export type GraphState = "starting" | "running" | "paused" | "stopping" | "finished" | "failed";

export type GraphEvent =
  | { readonly type: "state"; readonly state: GraphState; readonly error?: string }
  | { readonly type: "element"; readonly node: string; readonly event: ElementEvent }
  /** An expendable slot has failed and is gone. */
  | { readonly type: "dropped"; readonly segment: string; readonly reason: string }
  | { readonly type: "changed"; readonly changes: readonly PlanChange[] }
  | {
      readonly type: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly node: string;
      readonly message: string;
      readonly fields?: JsonRecord;
    };

/** Something in the running graph broke; `node` is the author's name of it. */
export class GraphFailure extends Error {
  override readonly name = "GraphFailure";
  readonly node: string | null;
  /** GStreamer's debug text or the JavaScript stack. */
  readonly debug: string;
  /** An element declined to start, in words of its own: where in its source is of no interest to a user. */
  readonly isRefusal: boolean;
  constructor(node: string | null, message: string, debug = "", isRefusal = false) {
    super(node === null || node === "" ? message : `${node}: ${message}`);
    this.node = node;
    this.debug = debug;
    this.isRefusal = isRefusal;
  }

  /** Where in our sources a handler threw, innermost first: `at process (elements/x/x.ts:12:7)`. Empty of GStreamer's. */
  get trace(): readonly string[] {
    return framesOf(this.debug);
  }
}
