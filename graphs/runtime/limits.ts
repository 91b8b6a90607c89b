/** Timeouts of the runtime. */
export const LIMITS = {
  /** An element's `create`, such as loading a model. */
  createMs: 30_000,
  /** From the first state change to PLAYING. */
  startMs: 15_000,
  /** From sending EOS to its arrival at every sink. */
  drainMs: 5_000,
  /** From PLAYING to NULL; also for each handler and driver to close. */
  closeMs: 5_000,
  /** An element's `update`. */
  updateMs: 5_000,
  /** A call of a handler that blocks frames (`process`, `format`, `end`): logged after this time … */
  slowFrameMs: 10_000,
  /** … and fatal after this time, in runners. */
  stuckFrameMs: 30_000,
  /** A branch that is detached: until EOS arrives at its sinks. */
  branchMs: 5_000,
  /** The same for a failed branch, where EOS may never arrive. */
  failedBranchMs: 500,
  /** Closing a source connection; RTSP TEARDOWN waits for a camera that may not answer. */
  ingestCloseMs: 4_000,
} as const;

/** Rejects with `what` after the timeout; the promise itself is not cancelled. */
export async function withTimeout<T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
