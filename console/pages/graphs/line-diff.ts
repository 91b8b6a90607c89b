/** The lines that differ between two texts. Pure. */

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Beyond this many pairs of lines in the middle, all of them count as replaced. */
const MOST_PAIRS = 4_000_000;

/** All lines of both texts, in order: a longest common subsequence is the same, removed lines come before added ones. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, next] = [before, after].map((text) => text.replace(/\n$/, "").split("\n")) as [string[], string[]];
  const shorter = Math.min(old.length, next.length);
  let start = 0;
  while (start < shorter && old[start] === next[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1;
  const toLines = (kind: DiffLine["kind"], texts: readonly string[]) => texts.map((text) => ({ kind, text }));
  return [
    ...toLines("same", old.slice(0, start)),
    ...diffMiddle(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...toLines("same", old.slice(old.length - end)),
  ];
}

function diffMiddle(old: readonly string[], next: readonly string[]): readonly DiffLine[] {
  const isLarge = old.length * next.length > MOST_PAIRS;
  // lengths[i][j]: of the longest common subsequence of old from i and next from j.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(isLarge ? 0 : next.length + 1));
  const lengthAt = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  if (!isLarge)
    for (let i = old.length - 1; i >= 0; i--)
      for (let j = next.length - 1; j >= 0; j--)
        (lengths[i] as Uint32Array)[j] =
          old[i] === next[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    const [was, is] = [old[i], next[j]];
    if (was !== undefined && was === is && !isLarge) {
      lines.push({ kind: "same", text: was });
      i += 1;
      j += 1;
    } else if (was !== undefined && (is === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ kind: "removed", text: was });
      i += 1;
    } else {
      lines.push({ kind: "added", text: is ?? "" });
      j += 1;
    }
  }
  return lines;
}

/** Without lines that are the same, but for some around every difference; null stands for what is left out. */
export function foldSame(lines: readonly DiffLine[], context = 3): readonly (DiffLine | null)[] {
  const changed = lines.flatMap(({ kind }, at) => (kind === "same" ? [] : [at]));
  const isNear = new Set(
    changed.flatMap((at) => Array.from({ length: 2 * context + 1 }, (_, offset) => at - context + offset)),
  );
  return lines.flatMap((line, at) => {
    if (isNear.has(at)) return [line];
    return at === 0 || isNear.has(at - 1) ? [null] : [];
  });
}
