import type { ProcessRecord, TelemetryInfo } from "../../schemas/api/processes.ts";
import type { RunnerStats } from "../../schemas/runner.ts";
import { describeState } from "../outputs/describe-output.ts";
import type { ProcessView } from "../store/processes.ts";
import type { OutputState } from "./process-outputs.ts";
import type { ProcessCrash, ProcessError, ProcessState } from "./processes.ts";
import type { RecordingState } from "./recorder.ts";

/** What the machine that runs it knows better than the database, which hears of it a little later. */
export interface LiveProcess {
  readonly state: ProcessState;
  readonly error: ProcessError | null;
  readonly reconnecting: boolean;
  /** A runner has crashed and another is not there yet. */
  readonly restarting: boolean;
  readonly restarts: number;
  readonly lastError: ProcessCrash | null;
  readonly framesLost: number | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly stats: RunnerStats | null;
  readonly outputs: readonly OutputState[];
  /** Null of one that is not to be recorded. */
  readonly recording: RecordingState | null;
  readonly telemetry: TelemetryInfo | null;
}

/** As clients see it. */
export function describeProcess(
  row: ProcessView,
  live: LiveProcess | null,
  recordings: ProcessRecord["recordings"],
  isOperator: boolean,
): ProcessRecord {
  const {
    state,
    error,
    reconnecting,
    restarting,
    startedAt,
    finishedAt,
    stats,
    outputs,
    recording,
    telemetry,
    ...crashed
  } = live ?? written(row);
  return {
    uuid: row.uuid,
    process_uuid: row.uuid,
    state,
    reconnecting,
    restarting,
    source_uuid: row.sourceUuid,
    source_url: row.sourceUrl,
    graph: row.graph,
    params: row.params,
    started_at: startedAt?.toISOString() ?? null,
    finished_at: finishedAt?.toISOString() ?? null,
    error,
    last_error: describeCrash(crashed.lastError, isOperator),
    outputs: [...row.outputs],
    output_states: outputs.map((output) => ({
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
    stats: { ...describeStats(stats), restarts: crashed.restarts, frames_lost: crashed.framesLost },
  };
}

/** Where in the sources it happened is for those who run the service. */
export function describeCrash(crash: ProcessCrash | null, isOperator: boolean): ProcessRecord["last_error"] {
  if (crash === null) return null;
  const { at, node, detail, trace } = crash;
  return { at: at.toISOString(), node, detail, ...(isOperator && { trace: [...trace] }) };
}

const written = (row: ProcessView): LiveProcess => ({
  state: row.state,
  error: row.errorCode === null ? null : { code: row.errorCode, detail: row.errorDetail ?? "" },
  reconnecting: false,
  restarting: false,
  restarts: row.restarts,
  lastError: row.lastError === null ? null : { ...row.lastError, at: new Date(row.lastError.at) },
  framesLost: row.framesLost,
  startedAt: row.startedAt,
  finishedAt: row.finishedAt,
  stats: null,
  outputs: [],
  recording: null,
  telemetry: null,
});

const describeStats = (stats: RunnerStats | null): Omit<ProcessRecord["stats"], "restarts" | "frames_lost"> => ({
  fps_in: stats?.fps_in ?? 0,
  fps_processed: stats?.fps_processed ?? 0,
  fps_out: stats?.fps_out ?? 0,
  frames_dropped: stats?.frames_dropped ?? 0,
  latency_ms: { p50: stats?.latency_ms.p50 ?? 0, p95: stats?.latency_ms.p95 ?? 0 },
  inference_ms: stats?.inference_ms ?? 0,
});
