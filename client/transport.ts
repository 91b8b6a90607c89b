/** How an operation becomes a request, and an answer a value or an error. For browsers and for Node. */
import { ApiError, readRefusal } from "./api-error.ts";

/** One operation of the API, as the generated part of the client has it. */
export interface Route {
  readonly method: string;
  /** `/process/{process_uuid}` */
  readonly path: string;
  readonly query?: readonly string[];
  readonly bodyType?: string;
}

/** Of one call. */
export interface Call {
  /** Ends the call, and the stream that it may have answered with. In place of the limit. */
  readonly signal?: AbortSignal;
  /** In place of the client's. */
  readonly limitMs?: number;
}

/** Of what is no JSON: a download, a page, a stream. */
export type Answer = Response;

// biome-ignore lint/suspicious/noExplicitAny: the generated part says what each operation takes and gives.
export type Transport = (route: Route, input: object, call?: Call) => Promise<any>;

export interface ClientOptions {
  /** `http://localhost:8080`, or empty in a page that the service itself has served. */
  readonly url: string;
  /** A function is asked at every call. */
  readonly apiKey?: string | (() => string | undefined);
  readonly fetch?: typeof fetch;
  /** Every call is answered within this time, unless it brings a signal of its own. Default 30 s. Streams go on after it. */
  readonly limitMs?: number;
}

type Body = NonNullable<RequestInit["body"]>;

const LIMIT_MS = 30_000;

/** Rejects with `ApiError`, and with the reason of the call's own signal when that was aborted. */
export function createTransport({
  url,
  apiKey,
  fetch: ask = fetch,
  limitMs: usualMs = LIMIT_MS,
}: ClientOptions): Transport {
  const base = url.replace(/(?<!\/)\/+$/, "");
  return async (route, input, call = {}) => {
    const { target, init } = makeRequest(base, route, { ...input });
    const key = typeof apiKey === "function" ? apiKey() : apiKey;
    if (key !== undefined) addKey(init.headers, key);
    const { signal, limitMs = usualMs } = call;
    const late = new AbortController();
    const timer = signal === undefined ? setTimeout(() => late.abort(), limitMs) : undefined;
    try {
      const answer = await ask(target, { ...init, signal: signal ?? late.signal });
      if (!answer.ok) throw await readRefusal(answer);
      return await readAnswer(answer);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof ApiError) throw error;
      const detail = late.signal.aborted ? `no answer within ${limitMs / 1000} s` : "the service cannot be reached";
      throw new ApiError(0, { code: "no_answer", detail }, null, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
}

function makeRequest(base: string, { method, path, query = [], bodyType }: Route, input: Record<string, unknown>) {
  const headers = new Headers();
  const target = base + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => writeSegment(name, input[name]));
  const search = new URLSearchParams();
  for (const name of query)
    if (input[name] !== undefined && input[name] !== null) search.set(name, String(input[name]));
  const init: { method: string; headers: Headers; body?: Body } = { method, headers };
  if (bodyType !== undefined && input.body !== undefined) {
    const isJson = bodyType === "application/json";
    // A form says its own type, with its boundary.
    if (bodyType !== "multipart/form-data") headers.set("Content-Type", bodyType);
    init.body = isJson ? JSON.stringify(input.body) : (input.body as Body);
  }
  return { target: search.size > 0 ? `${target}?${search}` : target, init };
}

function addKey(headers: Headers, key: string): void {
  try {
    headers.set("api_key", key);
  } catch (cause) {
    const detail = "the API key has characters that no key has";
    throw new ApiError(0, { code: "invalid_input", detail }, null, { cause });
  }
}

/** What would lead to another operation is refused: `..` survives every encoding. */
function writeSegment(name: string, value: unknown): string {
  const text = value === undefined || value === null ? "" : String(value);
  if (text === "" || text === "." || text === "..")
    throw new ApiError(0, { code: "invalid_input", detail: `${name} is "${text}"; expected a name or a uuid` });
  return encodeURIComponent(text);
}

async function readAnswer(answer: Response): Promise<unknown> {
  const type = answer.headers.get("Content-Type") ?? "";
  if (/^application\/([\w.]+\+)?json/.test(type)) {
    const text = await answer.text();
    try {
      return JSON.parse(text);
    } catch (cause) {
      const detail = `the service answered ${answer.status} with JSON that cannot be read`;
      throw new ApiError(answer.status, { code: "bad_answer", detail }, null, { cause });
    }
  }
  if (/^(text\/plain|application\/yaml)/.test(type)) return answer.text();
  return answer;
}
