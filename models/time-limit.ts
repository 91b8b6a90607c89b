/**
 * Aborted after this time, or with `signal`. Not `AbortSignal.any` with `AbortSignal.timeout`: in Node 20 the combination does
 * not keep the timer, and the limit is lost when garbage is collected.
 */
export function limitTime(limitMs: number, signal?: AbortSignal): AbortSignal {
  const limited = new AbortController();
  const follow = (): void => {
    clearTimeout(timer);
    limited.abort(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener("abort", follow);
    limited.abort(new DOMException(`took longer than ${limitMs / 1000} s`, "TimeoutError"));
  }, limitMs);
  timer.unref();
  if (signal?.aborted) follow();
  else signal?.addEventListener("abort", follow, { once: true });
  return limited.signal;
}
