/** Sends operations as requests and turns responses into values or `ApiError`. For browsers and Node. */

/** One operation of the API, from the generated part of the client. */
export interface Route {
  readonly method: string;
  /** `/process/{process_uuid}` */
  readonly path: string;
  readonly query?: readonly string[];
  readonly bodyType?: string;
}

/** Options of one call. */
export interface Call {
  /** Aborts the call and a stream that it returned. Replaces the time limit. */
  readonly signal?: AbortSignal;
  /** Overrides the time limit of the client. */
  readonly limitMs?: number;
}

/** A response that is neither JSON nor text: a download, a page, a stream. */
export type Answer = Response;

// biome-ignore lint/suspicious/noExplicitAny: the generated part defines the types of each operation.
export type Transport = (route: Route, input: object, call?: Call) => Promise<any>;

export interface ClientOptions {
  /** `http://localhost:8080`; empty in a page that the service itself serves. */
  readonly url: string;
  /** A function is called for every request. */
  readonly apiKey?: string | (() => string | undefined);
  readonly fetch?: typeof fetch;
  /** Time limit of a call without its own signal, until the response is complete or a stream begins. Default 30 s. */
  readonly limitMs?: number;
}

type Body = NonNullable<RequestInit["body"]>;

const LIMIT_MS = 30_000;

/** Rejects with `ApiError`, or with the reason of the call's signal when it was aborted. */
export function createTransport({
  url,
  apiKey,
  fetch: send = fetch,
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
      const answer = await send(target, { ...init, signal: signal ?? late.signal });
      if (!answer.ok) throw await readApiError(answer);
      return await readAnswer(answer);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof ApiError) throw error;
      const detail = late.signal.aborted ? `no response within ${limitMs / 1000} s` : "the service cannot be reached";
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
    // fetch sets the type of a form, with its boundary.
    if (bodyType !== "multipart/form-data") headers.set("Content-Type", bodyType);
    init.body = isJson ? JSON.stringify(input.body) : (input.body as Body);
  }
  return { target: search.size > 0 ? `${target}?${search}` : target, init };
}

function addKey(headers: Headers, key: string): void {
  try {
    headers.set("api_key", key);
  } catch (cause) {
    const detail = "the API key contains invalid characters";
    throw new ApiError(0, { code: "invalid_input", detail }, null, { cause });
  }
}

/** Rejects values that would change the path: `..` survives every encoding. */
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
      const detail = `the service answered ${answer.status} with invalid JSON`;
      throw new ApiError(answer.status, { code: "bad_answer", detail }, null, { cause });
    }
  }
  if (/^(text\/plain|application\/yaml)/.test(type)) return answer.text();
  return answer;
}

interface Fault {
  /** A JSON pointer into the body, or the name of a parameter. */
  readonly path: string;
  readonly message: string;
}

/** Used members of `application/problem+json`. */
export interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly Fault[];
  readonly request_id?: string;
}

/** Reads any body, also one of a proxy; members with an unexpected type are left out. */
export function readProblem(body: unknown): Problem {
  const { errors, ...members } = Object(body) as Readonly<Record<string, unknown>>;
  const texts = Object.entries(members).filter(([, value]) => typeof value === "string");
  return { ...Object.fromEntries(texts), ...(Array.isArray(errors) && { errors: errors.filter(isFault) }) };
}

const isFault = (value: unknown): value is Fault => typeof Object(value).message === "string";

/** The error of a response with an error status. */
export async function readApiError(answer: Response): Promise<ApiError> {
  const problem = readProblem(await answer.json().catch(() => null));
  return new ApiError(answer.status, problem, answer.headers.get("Retry-After"));
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0: no response. */
  readonly status: number;
  /** A stable code such as `source_not_live`; `no_answer` without a response, `bad_answer` for invalid JSON. */
  readonly code: string;
  /** One entry for every fault of the input. */
  readonly errors: readonly Fault[];
  /** Identifies the request in the log of the service. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, problem: Problem, retryAfter: string | null = null, options: ErrorOptions = {}) {
    super(problem.detail ?? problem.title ?? `the service answered ${status}`, options);
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.errors = problem.errors ?? [];
    this.requestId = problem.request_id ?? null;
    this.retryAfterSeconds = retryAfter === null || !/^\d+$/.test(retryAfter) ? null : Number(retryAfter);
  }
}
