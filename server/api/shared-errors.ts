/** Codes that an endpoint may answer with without saying so. */
import type { ErrorCode } from "../../schemas/errors.ts";
import type { AnyEndpoint } from "./endpoint.ts";

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
