/** How an operation becomes a request, and an answer a value or an error. For browsers and for Node. */

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
  readonly signal?: AbortSignal;
}

/** Of what is no JSON: a download, a page, a stream. */
export type Answer = Response;

// biome-ignore lint/suspicious/noExplicitAny: the generated part says what each operation takes and gives.
export type Transport = (route: Route, input: object, call?: Call) => Promise<any>;

export interface ClientOptions {
  /** `http://localhost:8080`, or empty in a page that the service itself has served. */
  readonly url: string;
  readonly apiKey?: string | (() => string | undefined);
  readonly fetch?: typeof fetch;
  /** Every call ends after so long, unless it brings a signal of its own. Default 30 s. */
  readonly limitMs?: number;
}

interface Fault {
  readonly path: string;
  readonly message: string;
}

/** What the service, or the way to it, had against a call. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0: there was no answer. */
  readonly status: number;
  /** A stable word such as `source_not_live`; `no_answer` when there was none. */
  readonly code: string;
  /** Of bad input: one for every fault. */
  readonly errors: readonly Fault[];
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    problem: { code?: string; title?: string; detail?: string; errors?: readonly Fault[] },
    retryAfter: string | null = null,
  ) {
    super(problem.detail ?? problem.title ?? `the service answered ${status}`);
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = retryAfter === null || !/^\d+$/.test(retryAfter) ? null : Number(retryAfter);
  }
}

type Body = NonNullable<RequestInit["body"]>;
type Problem = ConstructorParameters<typeof ApiError>[1];

const LIMIT_MS = 30_000;

/** Rejects with `ApiError`, and with an `AbortError` when the call's own signal was aborted. */
export function createTransport({ url, apiKey, fetch: ask = fetch, limitMs = LIMIT_MS }: ClientOptions): Transport {
  const base = url.replace(/\/+$/, "");
  return async (route, input, call = {}) => {
    const { target, init } = makeRequest(base, route, { ...input });
    const key = typeof apiKey === "function" ? apiKey() : apiKey;
    if (key !== undefined) init.headers.set("api_key", key);
    const signal = call.signal ?? AbortSignal.timeout(limitMs);
    let answer: Response;
    try {
      answer = await ask(target, { ...init, signal });
    } catch (error) {
      if (call.signal?.aborted) throw error;
      const detail = signal.aborted ? `no answer within ${limitMs / 1000} s` : "the service cannot be reached";
      throw new ApiError(0, { code: "no_answer", detail });
    }
    return answer.ok ? readAnswer(answer) : Promise.reject(await readProblem(answer));
  };
}

function makeRequest(base: string, { method, path, query = [], bodyType }: Route, input: Record<string, unknown>) {
  const headers = new Headers();
  const target = base + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
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

async function readAnswer(answer: Response): Promise<unknown> {
  const type = answer.headers.get("Content-Type") ?? "";
  if (/^application\/([\w.]+\+)?json/.test(type)) return answer.json();
  if (/^(text\/plain|application\/yaml)/.test(type)) return answer.text();
  return answer;
}

async function readProblem(answer: Response): Promise<ApiError> {
  const problem = (await answer.json().catch(() => ({}))) as Problem;
  return new ApiError(answer.status, problem, answer.headers.get("Retry-After"));
}
