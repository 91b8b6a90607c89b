/** Errors as problem documents: RFC 9457. */
import type { Problem } from "../schemas/api/problem.ts";
import { ERRORS } from "../schemas/errors.ts";
import { ServiceError } from "./service-error.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** Anything but a `ServiceError` is a bug: its message is logged and never sent. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", {
    detail: "Unexpected error. The server has logged it; quote the request id when you report it.",
    cause: error,
  });
}

export function toProblem(error: ServiceError, requestId: string): Problem {
  const { status, title } = ERRORS[error.code];
  return {
    type: `/docs/errors#${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    ...(error.errors !== null && { errors: error.errors.map(({ path, message }) => ({ path, message })) }),
    request_id: requestId,
  };
}

/** Headers of every JSON answer, errors included. Answers depend on the user and the time: they are never cached. */
export const ANSWER_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } as const;

export function problemHeaders(error: ServiceError, requestId: string): Record<string, string> {
  return {
    ...ANSWER_HEADERS,
    "Content-Type": PROBLEM_TYPE,
    "X-Request-Id": requestId,
    ...(error.retryAfterSeconds !== null && { "Retry-After": String(Math.max(1, Math.ceil(error.retryAfterSeconds))) }),
  };
}

export const problemResponse = (
  error: ServiceError,
  requestId: string,
  headers: Readonly<Record<string, string>>,
): Response =>
  new Response(JSON.stringify(toProblem(error, requestId)), {
    status: error.status,
    headers: { ...problemHeaders(error, requestId), ...headers },
  });
