/** Processes for clients and metrics. Pure. */
import type { ProcessRecord as ApiProcess, TelemetryInfo } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { describeState, type OutputState } from "../outputs/describe-output.ts";
import type { ProcessView } from "../store/processes.ts";
import type { StoredView } from "../store/progress.ts";
import type { Attachments } from "./attachments.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { ProcessCrash, ProcessState } from "./processes.ts";
import type { RecordingState } from "./recorder.ts";

type RecordFields = "error" | "restarts" | "lastError" | "framesLost" | "startedAt" | "finishedAt";

/** What the node that runs the process knows; the database follows a little later. */
export interface LiveProcess extends Pick<ProcessRecord, RecordFields> {
  readonly state: ProcessState;
  readonly reconnecting: boolean;
  /** A runner has crashed and its replacement has no frame yet. */
  readonly restarting: boolean;
  readonly stats: RunnerStats | null;
  readonly outputs: readonly OutputState[];
  /** Null for a process that is not to be recorded. */
  readonly recording: RecordingState | null;
  readonly telemetry: TelemetryInfo | null;
}

export interface LiveProcesses {
  /** By uuid, without those that have ended or are not known yet. */
  views(uuids: readonly string[]): Promise<ReadonlyMap<string, LiveProcess>>;
}

export function describeProcess(
  row: ProcessView,
  live: LiveProcess | null,
  recordings: ApiProcess["recordings"],
  isOperator: boolean,
): ApiProcess {
  const { state, error, reconnecting, restarting, recording, telemetry, stats, ...rest } = live ?? stored(row);
  return {
    uuid: row.uuid,
    process_uuid: row.uuid,
    ...{ state, reconnecting, restarting },
    source_uuid: row.sourceUuid,
    source_url: row.sourceUrl,
    graph: row.graph,
    graph_version: row.graphVersion,
    params: row.params,
    started_at: rest.startedAt?.toISOString() ?? null,
    finished_at: rest.finishedAt?.toISOString() ?? null,
    error,
    last_error: describeCrash(rest.lastError, isOperator),
    outputs: [...row.outputs],
    output_states: rest.outputs.map((output) => ({
      output_uuid: output.outputUuid,
      type: output.type,
      ...describeState(output),
    })),
    recording: recording && {
      is_recording: recording.isRecording,
      status_detail: recording.detail,
      frames_dropped: recording.framesDropped,
    },
    recordings,
    alerts: [...row.alerts],
    telemetry,
    stats: {
      fps_in: stats?.fps_in ?? 0,
      fps_processed: stats?.fps_processed ?? 0,
      fps_out: stats?.fps_out ?? 0,
      frames_dropped: stats?.frames_dropped ?? 0,
      latency_ms: { p50: stats?.latency_ms.p50 ?? 0, p95: stats?.latency_ms.p95 ?? 0 },
      inference_ms: stats?.inference_ms ?? 0,
      restarts: rest.restarts,
      frames_lost: rest.framesLost,
      link: stats?.link ?? null,
    },
  };
}

/** The trace is for operators only. */
export function describeCrash(crash: ProcessCrash | null, isOperator: boolean): ApiProcess["last_error"] {
  if (crash === null) return null;
  const { at, node, detail, trace } = crash;
  return { at: at.toISOString(), node, detail, ...(isOperator && { trace: [...trace] }) };
}

const stored = (row: ProcessView): LiveProcess => ({
  ...{ state: row.state, restarts: row.restarts, framesLost: row.framesLost },
  ...{ startedAt: row.startedAt, finishedAt: row.finishedAt },
  error: row.errorCode === null ? null : { code: row.errorCode, detail: row.errorDetail ?? "" },
  lastError: row.lastError === null ? null : { ...row.lastError, at: new Date(row.lastError.at) },
  // No node has room for it: it is resumed when one has.
  restarting: row.waitingSince !== null,
  ...{ reconnecting: row.reconnecting, stats: null, outputs: [], recording: null, telemetry: null },
});

export function viewProcess(record: ProcessRecord, attachments: Attachments, hasRunner: boolean): LiveProcess {
  const { shownState: state, error, lastError, restarts, framesLost, startedAt, finishedAt } = record;
  const { reconnecting, stats, hasCrashed: restarting, telemetry } = record;
  const isFlowing = state === "running" && hasRunner;
  return {
    ...{ state, error, lastError, restarts, framesLost, startedAt, finishedAt, reconnecting, restarting },
    outputs: explainOutputs(attachments.outputs.states, state, reconnecting),
    recording: attachments.recording,
    telemetry: telemetry?.info ?? null,
    // A runner that is paused or has ended reports no new rates; counters stay.
    stats: stats === null || isFlowing ? stats : standStill(stats),
  };
}

/** Without rates and without a connection. */
function standStill({ link: _, ...stats }: RunnerStats): RunnerStats {
  return { ...stats, fps_in: 0, fps_processed: 0, fps_out: 0 };
}

/** For the other nodes. */
export const storeView = (view: LiveProcess): JsonRecord => JSON.parse(JSON.stringify(view)) as JsonRecord;

export function readStoredView({ view: stored, isLost }: StoredView): LiveProcess {
  const view = stored as unknown as LiveProcess;
  const toDate = (time: Date | null): Date | null => (time === null ? null : new Date(time));
  const stats = view.stats === null ? null : standStill(view.stats);
  return {
    ...view,
    ...(isLost && { restarting: true, reconnecting: false, stats }),
    ...{ startedAt: toDate(view.startedAt), finishedAt: toDate(view.finishedAt) },
    lastError: view.lastError === null ? null : { ...view.lastError, at: new Date(view.lastError.at) },
  };
}

/** Outputs receive nothing while no frames flow, which is not their fault. */
export function explainOutputs(
  outputs: readonly OutputState[],
  state: ProcessState,
  reconnecting: boolean,
): readonly OutputState[] {
  const waiting = reconnecting || state === "waiting" ? "the process waits for its source" : null;
  const detail = state === "paused" ? "the process is paused" : waiting;
  if (detail === null) return outputs;
  return outputs.map((output) => {
    if (output.status === "failed") return output;
    return { ...output, status: output.status === "retrying" ? "starting" : output.status, detail };
  });
}

export type EndState = "finished" | "failed";

export const isEnd = (state: ProcessState): state is EndState => state === "finished" || state === "failed";

/** The processes of this node, for metrics. */
export interface ProcessNumbers {
  readonly states: Readonly<Record<Exclude<ProcessState, EndState>, number>>;
  readonly reconnecting: number;
}

/** Every state is listed, also with 0: a missing one would keep its last value in metrics. */
export function countProcesses(views: Iterable<Pick<LiveProcess, "state" | "reconnecting">>): ProcessNumbers {
  const states = { starting: 0, waiting: 0, running: 0, paused: 0, stopping: 0 };
  let reconnecting = 0;
  for (const view of views) {
    if (isEnd(view.state)) continue;
    states[view.state] += 1;
    if (view.reconnecting) reconnecting += 1;
  }
  return { states, reconnecting };
}
