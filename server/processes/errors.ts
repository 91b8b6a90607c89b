/** Failures of processes and runners as errors for clients. */
import { RequestRejected } from "../../ipc/channel.ts";
import type { ErrorCode } from "../../schemas/errors.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { ServiceError } from "../service-error.ts";
import { type LifecycleState, type RunEnd, storedState } from "./lifecycle.ts";
import type { ProcessState } from "./processes.ts";

const CODES: Readonly<Record<string, ErrorCode>> = {
  graph: "invalid_input",
  invalid: "invalid_input",
  wrong_state: "wrong_state",
  stopped: "wrong_state",
  graph_lacks: "graph_lacks",
  busy: "rate_limited",
};

/** A runner rejected a request, or did not reply. */
export function requestError(error: Error): ServiceError {
  if (!(error instanceof RequestRejected))
    return new ServiceError("pipeline_failed", { detail: `${error.message}; it is restarted`, cause: error });
  const code = CODES[error.kind] ?? "pipeline_failed";
  if (code === "rate_limited") return rateLimited(error.message, error);
  const faults = error.faults.length > 0 ? error.faults : [{ path: "/", message: error.message }];
  const errors = code === "invalid_input" ? faults : undefined;
  return new ServiceError(code, { detail: error.message, cause: error, ...(errors && { errors }) });
}

export const rateLimited = (detail: string, cause?: Error): ServiceError =>
  new ServiceError("rate_limited", { detail, retryAfterSeconds: 1, cause });

/** `the process is starting; it must be running or paused to be changed`. */
export function wrongState(state: LifecycleState, action: string, expected: readonly ProcessState[]): ServiceError {
  if (state === "restarting")
    return new ServiceError("wrong_state", {
      detail: `the process cannot be ${action} now: it is being restarted after its runner ended; try again in a moment`,
      retryAfterSeconds: 1,
    });
  return new ServiceError("wrong_state", {
    detail: `the process is ${storedState(state) ?? "stopping"}; it must be ${expected.join(" or ")} to be ${action}`,
  });
}

export const hasEnded = (state: ProcessState): ServiceError =>
  new ServiceError("wrong_state", {
    detail: `the process is ${state}: it has ended and cannot be continued; start another with POST /start`,
  });

/** Stored as active, and its node cannot be reached or none runs it yet. */
export const notHere = (): ServiceError =>
  new ServiceError("node_unavailable", {
    detail: "the process is being resumed, or the node that runs it cannot be reached; try again in a moment",
    retryAfterSeconds: 2,
  });

export const notFound = (uuid: string, state?: ProcessState): ServiceError =>
  new ServiceError("process_not_found", {
    detail: `${state === undefined ? `there is no process ${uuid}` : `the process ${uuid} is ${state}`}; GET /processes lists the active ones`,
  });

export const graphLacks = (graph: string, wanted: string, offered: readonly string[]): ServiceError =>
  new ServiceError("graph_lacks", {
    detail: `the graph "${graph}" has no "${wanted}"; it has ${offered.join(", ") || "none"}`,
  });

/** The process is fine, but this machine cannot start it within the time limit of the request. */
export const tooBusy = (limitMs: number): ServiceError =>
  new ServiceError("pipeline_failed", {
    detail: `this machine is too busy to start it within ${limitMs / 1000} s (runners.start_seconds); try again in a moment`,
    retryAfterSeconds: 5,
  });

/** What did not happen in time. */
export function describeLate(
  phase: "runner" | "graph" | "source",
  passedMs: number,
  { url, isFile }: { readonly url: string; readonly isFile: boolean },
): RunEnd {
  const seconds = (passedMs / 1000).toFixed(1);
  if (phase === "runner") return { kind: "crash", detail: `no runner was loaded within ${seconds} s` };
  if (phase === "graph") return { kind: "crash", detail: `the graph did not play within ${seconds} s` };
  const detail = `no frame arrived from ${url} within ${seconds} s; check that it is reachable and streams`;
  return { kind: isFile ? "crash" : "source", detail };
}

export function startFailed(end: RunEnd, isFile: boolean): ServiceError {
  if (end.kind === "stopped" || end.kind === "finished")
    return new ServiceError("wrong_state", { detail: "the process was stopped before it had started" });
  const detail = maskCredentials(end.detail);
  return new ServiceError(end.kind === "source" && !isFile ? "source_not_live" : "pipeline_failed", { detail });
}

export const shuttingDown = (): ServiceError =>
  new ServiceError("shutting_down", { detail: "the service is shutting down; try again in a moment" });

export const stopsSlowly = (): ServiceError =>
  new ServiceError("pipeline_failed", {
    detail: "the process is stopping, which takes longer than expected; try again in a moment",
    retryAfterSeconds: 1,
  });
