/** Asks again only when the last answer is so old; those who ask meanwhile share it. */
export function holdFor<T>(heldMs: number, ask: () => Promise<T>): () => Promise<T> {
  let askedMs = Number.NEGATIVE_INFINITY;
  let answer: Promise<T> | undefined;
  return () => {
    const nowMs = performance.now();
    if (answer !== undefined && nowMs - askedMs < heldMs) return answer;
    askedMs = nowMs;
    answer = ask();
    return answer;
  };
}
