/** What the rest of the server may ask of running processes. The supervisor keeps these promises. */
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { NewBranch } from "../store/outputs.ts";
import type { IncomingMessage } from "../telemetry/channel.ts";
import type { User } from "../user.ts";
import type { PictureSlot } from "./feed.ts";
import type { BranchState } from "./process-branches.ts";

export type ProcessState = "starting" | "running" | "paused" | "stopping" | "finished" | "failed";

export interface ProcessError {
  readonly code: string;
  readonly detail: string;
}

/** Why a runner crashed. */
export interface ProcessCrash {
  readonly at: Date;
  /** The node of the graph that failed; null where that is not known. */
  readonly node: string | null;
  readonly detail: string;
  /** Where in the sources an element threw, innermost first. For operators only. */
  readonly trace: readonly string[];
}

export interface CrashCounts {
  readonly restarts: number;
  /** Of a file; null of a live source. */
  readonly frames_lost: number | null;
}

/** What followers hear, in order. After `ended` nothing more. */
export type ProcessNotice =
  /** `channel` as the element named it: `detection_data`, `drone_data`. */
  | { readonly type: "message"; readonly channel: string; readonly message: JsonRecord }
  | {
      readonly type: "state";
      readonly state: ProcessState;
      readonly error: ProcessError | null;
      /** Why its runner crashed last. */
      readonly lastError?: ProcessCrash | null;
    }
  /**
   * Its runner is gone and another is on its way; the state, which is told again then, stays what it was. `crash`: why,
   * unless it only waits for its source.
   */
  | { readonly type: "restarting"; readonly crash?: ProcessCrash | null }
  | { readonly type: "reconnecting"; readonly reconnecting: boolean }
  | { readonly type: "stats"; readonly stats: RunnerStats & CrashCounts }
  /** Whenever its standing has changed, at most once a second. */
  | { readonly type: "telemetry"; readonly telemetry: TelemetryInfo }
  /** One that is written down: its outputs get it in any case. */
  | { readonly type: "alert"; readonly notice: AlertNotice }
  | { readonly type: "ended" };

/** One JPEG of the feed. */
export interface Picture {
  /** Unix time of the frame. */
  readonly captureMs: number;
  readonly bytes: Uint8Array;
}

export interface StartOrder {
  readonly user: User;
  readonly sourceUuid: string;
  readonly graph: string;
  /** Of a graph that is not installed; ends by itself after `forSeconds`. */
  readonly graphText?: string;
  readonly forSeconds?: number;
  readonly params: JsonRecord;
  /** When it was asked for, by `performance.now()`; the time in which it must be answered counts from then. */
  readonly requestedMs?: number;
  /** Aborted when whoever asked has gone: a start that nobody is told of is taken back. */
  readonly signal?: AbortSignal;
}

export interface StartedProcess {
  readonly uuid: string;
  readonly sourceUuid: string;
  readonly telemetry: TelemetrySetting | null;
  /** Milliseconds of its parts, for whoever wonders where the time went. */
  readonly times?: Readonly<Record<string, number>>;
}

export interface BranchList {
  readonly branches: readonly BranchState[];
  /** Those that can be attached, with the JSON Schema of their params. */
  readonly slots: Readonly<Record<string, JsonRecord>>;
}

/** All reject with `ServiceError`. A process of another user's is one that is not there. */
export interface Processes {
  /** Resolves once the source's first data has arrived. */
  start(order: StartOrder): Promise<StartedProcess>;
  pause(user: User, uuid: string): Promise<void>;
  resume(user: User, uuid: string): Promise<void>;
  /** Resolves when it is gone. */
  stop(user: User, uuid: string): Promise<void>;
  /** All of the user's; resolves with their uuids when all are gone. */
  stopAll(user: User): Promise<readonly string[]>;
  attach(user: User, uuid: string, outputUuid: string): Promise<void>;
  detach(user: User, uuid: string, outputUuid: string): Promise<void>;
  /** `graph_lacks` when its graph has no such slot or channel. */
  expectOffer(user: User, uuid: string, offer: string): Promise<void>;
  /** `params` of the graph, with everything that takes their values; all of it or nothing. */
  setProperties(
    user: User,
    uuid: string,
    nodes: Readonly<Record<string, JsonRecord>>,
    params?: JsonRecord,
  ): Promise<void>;
  attachBranch(user: User, uuid: string, branch: Pick<NewBranch, "slot" | "params">): Promise<BranchState>;
  detachBranch(user: User, uuid: string, branchUuid: string): Promise<void>;
  listBranches(user: User, uuid: string): Promise<BranchList>;
  describe(user: User, uuid: string, format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown>;
  /** Where a client brings telemetry; nothing comes of it once the process has ended. `telemetry_not_taken` where it may not. */
  openTelemetry(user: User, uuid: string): Promise<(message: IncomingMessage) => void>;
  /**
   * Of a process that is not finished, else `process_not_found`. The listener must not block and must not throw, and hears
   * the present state first. Returns how to stop. Restarts of the runner go unnoticed but for their state.
   */
  follow(user: User, uuid: string, listener: (notice: ProcessNotice) => void): Promise<() => void>;
  /** Pictures of the feed, or as they are: encoded while at least one follows. */
  watch(
    user: User,
    uuid: string,
    slot: PictureSlot,
    listener: (picture: Picture) => void,
  ): Promise<() => Promise<void>>;
}
