import { ERRORS, type ErrorCode } from "../schemas/errors.ts";

export interface InputFault {
  /** JSON pointer into the body, or the name of a parameter. */
  readonly path: string;
  readonly message: string;
}

interface ServiceErrorOptions {
  /** What was expected, what was met, what to do. Reaches the client: nothing secret, no path of this machine. */
  readonly detail: string;
  readonly errors?: readonly InputFault[];
  /** Seconds; goes out as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An error for clients, with a code. Everything else that is thrown becomes `internal_error`. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly errors: readonly InputFault[] | null;
  readonly retryAfterSeconds: number | null;

  constructor(code: ErrorCode, { detail, errors, retryAfterSeconds, cause }: ServiceErrorOptions) {
    super(detail, { cause });
    this.code = code;
    this.errors = errors ?? null;
    this.retryAfterSeconds = retryAfterSeconds ?? null;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Of one error. */
export const MAX_FAULTS = 100;

export function invalidInput(faults: readonly InputFault[]): ServiceError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
  const text = `${first?.path || "The body"} ${first?.message}${more}`;
  return new ServiceError("invalid_input", {
    detail: /[.!?]$/.test(text) ? text : `${text}.`,
    errors: faults.slice(0, MAX_FAULTS),
  });
}
