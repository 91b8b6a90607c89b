/** What a supervised process is made of. */
import type { Logger } from "pino";
import type { AlertRule } from "../../schemas/alerts.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Semaphore } from "../async/semaphore.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { Sql } from "../store/client.ts";
import type { AttachedOutput, BranchRow } from "../store/outputs.ts";
import type { ProcessRow } from "../store/processes.ts";
import type { PrepareOrder } from "./adoption.ts";
import type { RestartRule } from "./restart.ts";
import type { RunLimits } from "./run.ts";
import type { Runner } from "./runner.ts";

/** What comes in. */
export interface ProcessInput {
  /** With credentials. */
  readonly uri: string;
  readonly isFile: boolean;
  /** Where to find it now, by an address that may be connected to. Rejects when it is nowhere. */
  readonly locate: () => Promise<string>;
  /** What its name stood for when it was located, where it stays a name. */
  readonly addresses?: () => readonly string[];
  /** It is not run on any more. */
  readonly release?: () => void;
}

/** What else is known of it when it is started. */
export interface FirstInput extends ProcessInput {
  /** What clients are told of it, nothing secret. */
  readonly label: string;
  readonly telemetry: TelemetrySetting | null;
}

/** What a process can be asked for, as its graph says. */
export interface ProcessOffers {
  readonly offers: ReadonlySet<string>;
  readonly slots: Readonly<Record<string, JsonRecord>>;
  /** Where rules of alerts are evaluated; without it nowhere. */
  readonly alertNode?: AlertNode | null;
}

export interface AlertNode {
  /** The author's name of it. */
  readonly name: string;
  /** Those that the graph itself has; they stay besides those of the service. */
  readonly rules: readonly AlertRule[];
}

export interface ProcessLimits extends RunLimits {
  readonly startMs: number;
  readonly loadMs: number;
  readonly giveUpMs: number;
  readonly lookupMs: number;
  /** A runner must answer. */
  readonly replyMs: number;
  readonly saveMs: number;
  readonly restart: RestartRule;
}

export interface ProcessNeeds {
  readonly sql: Sql;
  readonly log: Logger;
  readonly config: Pick<Config, "telemetry" | "network">;
  readonly limits: ProcessLimits;
  readonly routeOutput: RouteOutput;
  readonly recordings: RecordingPlace;
  /** Of processes that are started: when a server takes up many, they do not slow each other down to failure. */
  readonly slots: Semaphore;
  /** Rejects with `invalid_input` where its graph does not take what a client gives. */
  prepare(order: PrepareOrder): Promise<unknown>;
  /** Rejects when the signal is aborted: then the runner is somebody else's. */
  takeRunner(signal: AbortSignal): Promise<Runner>;
  /** The runner that was taken has all it needs: another may be loaded in its place. */
  replaceRunner(): void;
}

/** Where processes are recorded. */
export interface RecordingPlace {
  /** There is room. */
  isAllowed(): boolean;
  /** Of one file. */
  readonly segmentMs: number;
  /** The path of a file that is not there yet. */
  nextFile(processUuid: string): Promise<string>;
}

export interface ProcessParts extends ProcessOffers {
  /** Its key has process recording. */
  readonly hasRecording: boolean;
  readonly row: ProcessRow;
  readonly input: ProcessInput;
  readonly outputs: readonly AttachedOutput[];
  readonly branches: readonly BranchRow[];
}
