/** A request that is not granted: what it is answered with. The connection goes on. */
import { Refused } from "../doorman.ts";
import { StreamRefusal } from "../streams.ts";

export class RequestRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const BY_VERDICT = { unauthorized: 401, slow_down: 403, forbidden: 403, unknown: 404, unavailable: 503 } as const;
/** RTSP has no "conflict": a path that is taken is forbidden, and too many is too little bandwidth. */
const BY_STREAM = { busy: 403, not_live: 404, too_many: 453 } as const;

/** Null for what is no refusal but a fault. */
export function toRefusal(error: unknown): RequestRefusal | null {
  if (error instanceof RequestRefusal) return error;
  if (error instanceof Refused) return new RequestRefusal(BY_VERDICT[error.kind], error.detail);
  if (error instanceof StreamRefusal) return new RequestRefusal(BY_STREAM[error.kind], error.message);
  return null;
}
