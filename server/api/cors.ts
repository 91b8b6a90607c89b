/** Which web pages may call us: https://fetch.spec.whatwg.org/#http-cors-protocol. Keys are headers, so no credentials. */
const PREFLIGHT_SECONDS = "600";

export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    // Written as an address, with a slash at the end; browsers send an origin without one.
    this.#origins = new Set(origins.map((origin) => origin.replace(/\/$/, "")));
  }

  /** Headers of every answer. */
  headersFor(origin: string | undefined): Readonly<Record<string, string>> {
    if (this.#origins.size === 0) return {};
    if (this.#origins.has("*")) return { "Access-Control-Allow-Origin": "*", ...EXPOSED };
    if (origin === undefined || !this.#origins.has(origin)) return { Vary: "Origin" };
    return { "Access-Control-Allow-Origin": origin, Vary: "Origin", ...EXPOSED };
  }

  /** More of them, for a browser that asks before it calls. */
  preflightHeaders(origin: string | undefined, methods: string): Readonly<Record<string, string>> {
    if (origin === undefined || !(this.#origins.has("*") || this.#origins.has(origin))) return {};
    return {
      "Access-Control-Allow-Methods": methods,
      "Access-Control-Allow-Headers": "api_key, content-type, x-request-id, last-event-id, range, if-range",
      "Access-Control-Max-Age": PREFLIGHT_SECONDS,
    };
  }
}

const EXPOSED = {
  "Access-Control-Expose-Headers":
    "x-request-id, retry-after, allow, content-disposition, content-range, accept-ranges, etag, location",
} as const;
