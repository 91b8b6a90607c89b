/** What the service, or the way to it, had against a call. */

interface Fault {
  /** Into the body, or the name of the parameter. */
  readonly path: string;
  readonly message: string;
}

/** As much of an answer of type `application/problem+json` as is used. */
export interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly Fault[];
  readonly request_id?: string;
}

/** Whoever answered, in whatever form: what is no problem as the service tells them says nothing. */
export function readProblem(body: unknown): Problem {
  const { errors, ...words } = Object(body) as Readonly<Record<string, unknown>>;
  const told = Object.entries(words).filter(([, value]) => typeof value === "string");
  return { ...Object.fromEntries(told), ...(Array.isArray(errors) && { errors: errors.filter(isFault) }) };
}

const isFault = (value: unknown): value is Fault => typeof Object(value).message === "string";

/** Of an answer that refuses. */
export async function readRefusal(answer: Response): Promise<ApiError> {
  const problem = readProblem(await answer.json().catch(() => null));
  return new ApiError(answer.status, problem, answer.headers.get("Retry-After"));
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0: there was no answer. */
  readonly status: number;
  /** A stable word such as `source_not_live`; `no_answer` when there was none, `bad_answer` when it could not be read. */
  readonly code: string;
  /** Of bad input: one for every fault. */
  readonly errors: readonly Fault[];
  /** By which the service's log knows the request. */
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
