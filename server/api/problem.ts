/** Errors as answers: RFC 9457. */
import type { Problem } from "../../schemas/api/problem.ts";
import { ERRORS, type ErrorCode } from "../../schemas/errors.ts";
import { ServiceError } from "../service-error.ts";
import type { AnyEndpoint } from "./endpoint.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** What is no `ServiceError` is a fault of ours: its words stay in our log. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", {
    detail: "This should not happen, and is written down in our log. Quote the request id when you report it.",
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

/** Headers that every answer of the API has, errors too: answers are of one user and one moment. */
export const ANSWER_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } as const;

export function problemHeaders(error: ServiceError, requestId: string): Record<string, string> {
  return {
    ...ANSWER_HEADERS,
    "Content-Type": PROBLEM_TYPE,
    "X-Request-Id": requestId,
    ...(error.retryAfterSeconds !== null && { "Retry-After": String(Math.max(1, Math.ceil(error.retryAfterSeconds))) }),
  };
}

/** Codes that an endpoint may answer with without saying so. */

const ALWAYS = ["malformed_request", "path_not_found", "method_not_allowed", "rate_limited"] as const;
const OURS = ["internal_error", "database_unavailable", "shutting_down"] as const;
const OF_KEYS = ["api_key_missing", "api_key_invalid", "api_key_expired"] as const;
const OF_SIGNATURES = ["signature_invalid"] as const;
const OF_BODIES = ["malformed_json", "request_timeout", "body_too_large", "media_type_unsupported"] as const;

export const SHARED_ERRORS: readonly ErrorCode[] = [
  ...ALWAYS,
  ...OURS,
  ...OF_KEYS,
  ...OF_SIGNATURES,
  ...OF_BODIES,
  "invalid_input",
];

/** Those that can really come from this endpoint, for the document. */
export function errorsOf(endpoint: AnyEndpoint): readonly ErrorCode[] {
  const hasInput = endpoint.query !== undefined || endpoint.body !== undefined;
  return [
    ...new Set<ErrorCode>([
      "malformed_request",
      ...(endpoint.path.includes("{") ? ["path_not_found" as const] : []),
      ...(["key", "url-key", "bearer", "signed"].includes(endpoint.access)
        ? [...OF_KEYS, "rate_limited" as const]
        : []),
      ...(endpoint.access === "signed" ? OF_SIGNATURES : []),
      ...(endpoint.body === undefined ? [] : OF_BODIES),
      ...(hasInput ? ["invalid_input" as const] : []),
      ...endpoint.errors,
      ...OURS,
    ]),
  ];
}
