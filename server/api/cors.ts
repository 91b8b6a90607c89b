/**
 * Which web pages may call the API (https://fetch.spec.whatwg.org/#http-cors-protocol). Keys are headers, so no credentials.
 * Not Hono's `cors`: that answers every `OPTIONS` itself, also on paths that do not exist, and without `Allow`.
 */
import type { ApiMiddleware } from "./context.ts";

const MAX_AGE_SECONDS = "600";
const ALLOWED_HEADERS =
  "api_key, content-type, x-request-id, last-event-id, range, if-range, if-match, if-none-match, idempotency-key";
const EXPOSED_HEADERS =
  "x-request-id, retry-after, ratelimit, ratelimit-policy, allow, content-disposition, content-range, accept-ranges, etag, location, idempotency-replayed";

export function cors(origins: readonly string[]): ApiMiddleware {
  // Configured as an address, with a slash at the end; browsers send an origin without one.
  const allowed = new Set(origins.map((origin) => origin.replace(/\/$/, "")));
  const isOpen = allowed.has("*");
  return async (context, next) => {
    await next();
    const { headers } = context.res;
    const { origin } = context.env.call.headers;
    if (!isOpen) headers.append("Vary", "Origin");
    if (!isOpen && (origin === undefined || !allowed.has(origin))) return;
    headers.set("Access-Control-Allow-Origin", isOpen ? "*" : (origin ?? ""));
    headers.set("Access-Control-Expose-Headers", EXPOSED_HEADERS);
    if (context.req.method !== "OPTIONS" || origin === undefined) return;
    headers.set("Access-Control-Allow-Methods", headers.get("Allow") ?? "");
    headers.set("Access-Control-Allow-Headers", ALLOWED_HEADERS);
    headers.set("Access-Control-Max-Age", MAX_AGE_SECONDS);
  };
}
