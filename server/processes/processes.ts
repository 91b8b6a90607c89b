/** What the rest of the server can do with running processes, and the types and limits of processes. `Supervisor` implements it. */
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { ProcessRecord, TelemetryInfo } from "../../schemas/api/processes.ts";
import type { ShadowRecord } from "../../schemas/api/shadows.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { GraphChange, RunnerStats, SeenEdge } from "../../schemas/runner.ts";
import type { PreparedOrder } from "../graphs/library.ts";
import type { AttachmentStatus } from "../outputs/describe-output.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { BranchRow, NewBranch } from "../store/outputs.ts";
import type { WaitSetting } from "../store/processes.ts";
import type { IncomingMessage } from "../telemetry/channels.ts";
import type { Span } from "../tracing/span.ts";
import type { User } from "../user.ts";

export type ProcessState = ProcessRecord["state"];

export interface ProcessError {
  readonly code: string;
  readonly detail: string;
}

/** Why a runner crashed. */
export interface ProcessCrash {
  readonly at: Date;
  /** The node of the graph that failed; null when unknown. */
  readonly node: string | null;
  readonly detail: string;
  /** Where in the sources an element threw, innermost first. For operators only. */
  readonly trace: readonly string[];
}

export interface CrashCounts {
  readonly restarts: number;
  /** Of a file; null for a live source. */
  readonly frames_lost: number | null;
}

/** The events of a process, in order. `ended` is the last one. */
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
   * The runner has ended and another one is being started; the state is unchanged and is sent again afterwards. `crash`:
   * the reason, null when the process only waits for its source.
   */
  | { readonly type: "restarting"; readonly crash?: ProcessCrash | null }
  | { readonly type: "reconnecting"; readonly reconnecting: boolean }
  | { readonly type: "stats"; readonly stats: RunnerStats & CrashCounts }
  /** On every change, at most once a second. */
  | { readonly type: "telemetry"; readonly telemetry: TelemetryInfo }
  /** A stored notification; outputs receive it in any case. */
  | { readonly type: "alert"; readonly notice: AlertNotice }
  | { readonly type: "ended" };

/** Slots that encode pictures for viewers: annotated, or plain. */
export type PictureSlot = "feed" | "view";

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
  /** Of a graph that is not installed. */
  readonly graphText?: string;
  /** Of a graph that the user has stored. */
  readonly graphVersion?: number;
  /** The process ends after this time. */
  readonly forSeconds?: number;
  /** It waits for `resume`, and nothing is lost before. Only of a file that is played once. */
  readonly isPaused?: boolean;
  readonly params: JsonRecord;
  /** It waits for its source; null or undefined: the source must be live. */
  readonly wait?: WaitSetting | null;
  /** It runs only on nodes with these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** When the request arrived, by `performance.now()`: the time limit of the start counts from then. */
  readonly requestedMs?: number;
  /** Aborted when the client has disconnected: the start is rolled back. */
  readonly signal?: AbortSignal;
  /** Of the request; null or undefined: it is not traced. */
  readonly span?: Span | null;
}

/** What is reserved for a process on its node. */
export interface ProcessCost {
  readonly cores: number;
  readonly memoryBytes: number;
}

export interface StartedProcess {
  readonly uuid: string;
  readonly sourceUuid: string;
  readonly telemetry: TelemetrySetting | null;
  /** Milliseconds that each phase of the start took. */
  readonly times?: Readonly<Record<string, number>>;
}

export interface BranchState extends BranchRow, AttachmentStatus {}

export interface BranchList {
  readonly branches: readonly BranchState[];
  /** Slots that clients can attach, with the JSON Schema of their params. */
  readonly slots: Readonly<Record<string, JsonRecord>>;
}

/** The video that a process reads. */
export interface ProcessInput {
  /** PTS of the first frame of a file. Default: 0. */
  readonly startMs?: number;
  /** With credentials. */
  readonly uri: string;
  /** Played once, from a position; a looped file is live. */
  readonly isFile: boolean;
  /** A file that starts again at its end. */
  readonly loops?: boolean;
  /** Live, and not published to the media hub: a camera, or a looped file. */
  readonly isPulled?: boolean;
  /** Resolves with its current address, checked against `network.deny`. Rejects when it cannot be resolved. */
  readonly locate: () => Promise<string>;
  /** What its host name resolved to in `locate`, where the address keeps the name. */
  readonly addresses?: () => readonly string[];
  /** The process has ended. */
  readonly release?: () => void;
}

export interface FirstInput extends ProcessInput {
  /** The source in texts for clients, without credentials. */
  readonly label: string;
  readonly telemetry: TelemetrySetting | null;
}

/** An operator sets the others (`runners`, `reconnect`). */
export const LIMITS = {
  /** Time limit for loading a runner. */
  loadMs: 30_000,
  /** Grace period before a stopping runner is killed. */
  stopMs: 5_000,
  /** Timeout of requests to a runner. */
  replyMs: 10_000,
  /** A running runner reports every second; without messages it is restarted after this time. */
  silentMs: 15_000,
  /** Number of processes that start concurrently; new processes before restarts. */
  parallel: 2,
  /** Time window for `runners.restarts`. */
  restartWindowMs: 300_000,
  /** Delay before the first restart of a crashed runner; doubles with every restart. */
  restartFirstMs: 500,
  /** Interval of name lookups for lost sources and failing outputs. */
  lookupMs: 10_000,
  /** Interval for storing the used minutes. */
  usageMs: 5_000,
  /** Interval of checks whether a published stream that a process waits for has begun. */
  waitMs: 250,
  /** Interval of attempts to reach a camera that a process waits for: the first, and the longest. */
  waitPull: { firstMs: 1_000, maxMs: 10_000 },
  /** A process that waits whenever its source is lost gives its runner up after this time. */
  keepMs: 5_000,
};
export type FixedLimits = Readonly<typeof LIMITS>;

/** All of them, also those of the configuration. */
export const readLimits = ({ runners, reconnect, database }: Config, fixed: FixedLimits) => ({
  ...fixed,
  startMs: runners.start_seconds * 1000,
  saveMs: database.statement_seconds * 1000,
  /** A live source that stays lost for longer ends its process. */
  giveUpMs: reconnect.give_up_seconds * 1000,
  restart: {
    restarts: runners.restarts,
    windowMs: fixed.restartWindowMs,
    firstMs: fixed.restartFirstMs,
    maxMs: runners.restart_most_seconds * 1000,
  },
});
export type ProcessLimits = ReturnType<typeof readLimits>;

/** What the graph of a process provides. */
export type ProcessOffers = Pick<PreparedOrder, "offers" | "slots"> &
  Partial<Pick<PreparedOrder, "alertNode" | "models">>;

/** The graph that a process runs. An upgrade replaces all of it. */
export interface RunningGraph extends ProcessOffers {
  /** Of a graph that is not installed. */
  readonly text: string | null;
  /** Of a graph that its user has stored. */
  readonly version: number | null;
}

/** What an upgrade changes. */
export interface UpgradeAnswer {
  readonly version: number;
  readonly previousVersion: number;
  readonly changes: readonly GraphChange[];
  /** All params of the graph, with defaults. */
  readonly params: JsonRecord;
}

export interface UpgradeOrder {
  readonly version: number;
  /** Only the answer: nothing is changed. */
  readonly isDryRun: boolean;
}

/** A variant beside a process. */
export interface ShadowOrder {
  /** `NAME` or `NAME@VERSION`; null: the graph that the process runs. */
  readonly graph: string | null;
  readonly params: JsonRecord;
  readonly seconds: number;
  /** Compared frames; null: no limit. */
  readonly frames: number | null;
}

/** All reject with `ServiceError`. Processes of other users are treated as missing. */
export interface Processes {
  /** Resolves when the first frame of the source has been decoded; with `wait`, when the process is stored. */
  start(order: StartOrder): Promise<StartedProcess>;
  pause(user: User, uuid: string): Promise<void>;
  resume(user: User, uuid: string): Promise<void>;
  /** Resolves when it has ended. */
  stop(user: User, uuid: string): Promise<void>;
  /** Resolves with the uuids of the user's processes when all have ended. */
  stopAll(user: User): Promise<readonly string[]>;
  attach(user: User, uuid: string, outputUuid: string): Promise<void>;
  detach(user: User, uuid: string, outputUuid: string): Promise<void>;
  /** Rejects with `graph_lacks` when its graph has no such slot or channel. */
  expectOffer(user: User, uuid: string, offer: string): Promise<void>;
  /** Properties by node, and params of the graph with all properties that use them. All or nothing. */
  setProperties(
    user: User,
    uuid: string,
    nodes: Readonly<Record<string, JsonRecord>>,
    params?: JsonRecord,
  ): Promise<void>;
  /** To another version of its graph, which the user has stored. Resolves when it runs; when it does not, the old one does. */
  upgrade(user: User, uuid: string, order: UpgradeOrder): Promise<UpgradeAnswer>;
  /** Beside it, on its source and without outputs. Resolves when it is checked; it starts in the background. */
  startShadow(user: User, uuid: string, order: ShadowOrder): Promise<ShadowRecord>;
  /** The current or last one. */
  readShadow(user: User, uuid: string): Promise<ShadowRecord>;
  /** Resolves when it has ended. */
  stopShadow(user: User, uuid: string): Promise<ShadowRecord>;
  attachBranch(user: User, uuid: string, branch: Pick<NewBranch, "slot" | "params">): Promise<BranchState>;
  detachBranch(user: User, uuid: string, branchUuid: string): Promise<void>;
  listBranches(user: User, uuid: string): Promise<BranchList>;
  describe(user: User, uuid: string, format: "json" | "dot" | "mermaid" | "launch"): Promise<unknown>;
  /** The next frame between two nodes or steps of the running graph. Rejects with `graph_lacks`. */
  seeEdge(user: User, uuid: string, from: string, to: string): Promise<SeenEdge>;
  /** Resolves with a receiver for telemetry from a client; rejects with `telemetry_not_taken` where none is expected. */
  openTelemetry(user: User, uuid: string): Promise<(message: IncomingMessage) => void>;
  /**
   * Rejects with `process_not_found` for a process that has ended. The listener must neither block nor throw; it receives
   * the current state first. Resolves with a function that unsubscribes.
   */
  follow(user: User, uuid: string, listener: (notice: ProcessNotice) => void): Promise<() => void>;
  /** JPEGs of the slot, which are encoded while at least one client watches. Resolves with a function that ends it. */
  watch(
    user: User,
    uuid: string,
    slot: PictureSlot,
    listener: (picture: Picture) => void,
  ): Promise<() => Promise<void>>;
}
