/** How long anything in the runtime may take before it is given up, in milliseconds. */
export const LIMITS = {
  /** An element's `create`: loading a model is the longest of them. */
  createMs: 30_000,
  /** From the first state change to PLAYING. */
  startMs: 15_000,
  /** From the end of stream asked for to its arrival at every sink. */
  drainMs: 5_000,
  /** From PLAYING to NULL; then each handler and driver has as long to close. */
  closeMs: 5_000,
  /** An element's `update`. */
  updateMs: 5_000,
  /** A call of a handler that frames wait for (`process`, `format`, `end`): after this it is logged … */
  slowFrameMs: 10_000,
  /** … and after this it ends the graph, where whoever runs it says so. */
  stuckFrameMs: 30_000,
  /** A branch that leaves: until its sinks have seen the end. */
  branchMs: 5_000,
  /** The same of one that has failed: its sinks may never see it. */
  failedBranchMs: 500,
  /** A source connection that is torn down; RTSP says goodbye to a camera that may not answer. */
  ingestCloseMs: 4_000,
} as const;

/** Rejects with `what` when the promise takes longer; the promise itself goes on. */
export async function within<T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> {
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
