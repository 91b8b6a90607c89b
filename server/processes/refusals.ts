/** What a runner answers, as clients are told. */
import type { ErrorCode } from "../../schemas/errors.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { ServiceError } from "../service-error.ts";
import type { ProcessState } from "./processes.ts";
import type { RunEnd } from "./run.ts";
import { RunnerRefusal } from "./runner.ts";

const CODES: Readonly<Record<string, ErrorCode>> = {
  graph: "invalid_input",
  invalid: "invalid_input",
  wrong_state: "wrong_state",
  stopped: "wrong_state",
  graph_lacks: "graph_lacks",
  busy: "rate_limited",
};

/** Of a request that a runner refused or did not answer. */
export function refuseRequest(error: Error): ServiceError {
  if (!(error instanceof RunnerRefusal))
    return new ServiceError("pipeline_failed", { detail: `${error.message}; it is started again`, cause: error });
  const code = CODES[error.kind] ?? "pipeline_failed";
  if (code === "rate_limited")
    return new ServiceError(code, { detail: error.message, retryAfterSeconds: 1, cause: error });
  const faults = error.faults.length > 0 ? error.faults : [{ path: "/", message: error.message }];
  const errors = code === "invalid_input" ? faults : undefined;
  return new ServiceError(code, { detail: error.message, cause: error, ...(errors && { errors }) });
}

export const refuseRestarting = (wish: string): ServiceError =>
  new ServiceError("wrong_state", {
    detail: `the process cannot be ${wish} just now: it is being started again after its runner ended; try again in a moment`,
    retryAfterSeconds: 1,
  });

/** `the process is starting; it must be running or paused to be changed`. */
export const refuseState = (state: ProcessState, wish: string, expected: readonly ProcessState[]): ServiceError =>
  new ServiceError("wrong_state", {
    detail: `the process is ${state}; it must be ${expected.join(" or ")} to be ${wish}`,
  });

export const refuseOffer = (graph: string, wish: string, offered: readonly string[]): ServiceError =>
  new ServiceError("graph_lacks", {
    detail: `the graph "${graph}" has no "${wish}"; it has ${offered.join(", ") || "nothing of that kind"}`,
  });

/** Nothing is wrong with the process: it could not be started in the time in which it must be answered. */
export const refuseLate = (limitMs: number): ServiceError =>
  new ServiceError("pipeline_failed", {
    detail: `this machine is too busy to start it within ${limitMs / 1000} s; try again in a moment`,
    retryAfterSeconds: 5,
  });

/** More is asked of a process than it gets done. */
export const refuseCrowd = (detail: string): ServiceError =>
  new ServiceError("rate_limited", { detail, retryAfterSeconds: 1 });

/** A start that came to nothing. */
export function refuseStart(end: RunEnd, isFile: boolean): ServiceError {
  if (end.kind === "stopped" || end.kind === "finished")
    return new ServiceError("wrong_state", { detail: "the process was stopped before it had started" });
  const detail = maskCredentials(end.detail);
  return new ServiceError(end.kind === "source" && !isFile ? "source_not_live" : "pipeline_failed", { detail });
}
