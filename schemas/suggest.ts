/** The closest name by Damerau-Levenshtein distance (optimal string alignment), if it is close enough. */
const MAX_LENGTH = 64;

export function suggest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const wanted = fold(name);
  let limit = wanted.length <= 4 ? 1 : wanted.length <= 7 ? 2 : 3;
  let nearest: string | undefined;
  for (const candidate of candidates) {
    if (candidate === name) continue;
    const folded = fold(candidate);
    const distance = editDistance(wanted, folded, limit);
    if (distance > 1 && wanted.length <= 7 && !beginsAlike(wanted, folded)) continue;
    if (distance > limit || (nearest !== undefined && distance === limit)) continue;
    nearest = candidate;
    limit = distance;
    if (distance === 0) break;
  }
  return nearest;
}

/** Typos rarely change the first letter except by swapping it with the second: otherwise a short name with two edits is another name. */
const beginsAlike = (a: string, b: string): boolean => a[0] === b[0] || (a[0] === b[1] && a[1] === b[0]);

/** `; did you mean "--frames"?` to append to a message; empty if no name is close. */
export function didYouMean(name: string, candidates: Iterable<string>, prefix = ""): string {
  const nearest = suggest(name, candidates);
  return nearest === undefined ? "" : `; did you mean "${prefix}${nearest}"?`;
}

// `maxSizeBuffers` and `max_size_buffers` are the right name in another spelling.
const fold = (name: string): string =>
  name
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();

/** At most `limit + 1`: larger distances are not measured. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    let best = row;
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(cost);
      best = Math.min(best, cost);
    }
    if (best > limit) return limit + 1;
    beforeLast = last;
    last = current;
  }
  return Math.min(last[b.length] ?? 0, limit + 1);
}
