/** Events and failures of a running graph. */
import type { ElementEvent } from "../../elements/element.ts";
import { framesOf } from "../../elements/source-lines.ts";
import type { BusMessage } from "../../native/addon.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { PlanChange } from "../compiler/plan.ts";

export type GraphState = "starting" | "running" | "paused" | "stopping" | "finished" | "failed";

export type GraphEvent =
  | { readonly type: "state"; readonly state: GraphState; readonly error?: string }
  | { readonly type: "element"; readonly node: string; readonly event: ElementEvent }
  /** An expendable slot has failed and was detached. */
  | { readonly type: "dropped"; readonly segment: string; readonly reason: string }
  | { readonly type: "changed"; readonly changes: readonly PlanChange[] }
  | {
      readonly type: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly node: string;
      readonly message: string;
      readonly fields?: JsonRecord;
    };

/** An error of GStreamer: a domain and a code of `gsterror.h`. */
type GstError = Pick<Extract<BusMessage, { domain: string }>, "domain" | "code">;

/** A failure of a running graph; `node` is the author's name. */
export class GraphFailure extends Error {
  override readonly name = "GraphFailure";
  readonly node: string | null;
  /** GStreamer's debug text or the JavaScript stack. */
  readonly debug: string;
  /** An element refused to start with a message of its own; the position in its source is irrelevant to users. */
  readonly isRefusal: boolean;
  /** Null for errors that GStreamer did not report. */
  readonly gst: GstError | null;

  constructor(
    node: string | null,
    message: string,
    debug = "",
    { isRefusal = false, gst = null }: { readonly isRefusal?: boolean; readonly gst?: GstError | null } = {},
  ) {
    super(node === null || node === "" ? message : `${node}: ${message}`);
    this.node = node;
    this.debug = debug;
    this.isRefusal = isRefusal;
    this.gst = gst;
  }

  /** Stack frames of a handler's error, innermost first: `at process (elements/x/x.ts:12:7)`. Empty for GStreamer errors. */
  get trace(): readonly string[] {
    return framesOf(this.debug);
  }
}
