import type { Part, Side } from "./parts.ts";

/** Parts of one object are about as long along the edge that cuts them: shared length over joint length. */
const ALIKE = 0.6;

interface Axis {
  readonly low: Side;
  readonly high: Side;
}
const ACROSS: Axis = { low: "left", high: "right" };
const DOWN: Axis = { low: "top", high: "bottom" };

/** Puts parts together that face one another across the edges of their tiles, until there are none. Best first. */
export function unite(parts: readonly Part[]): Part[] {
  const left = [...parts].sort((a, b) => b.score - a.score);
  for (let i = 0; i < left.length; i++) {
    const part = left[i] as Part;
    const j = left.findIndex((other, at) => at > i && isContinued(part, other));
    if (j < 0) continue;
    left[i] = join(part, left[j] as Part);
    left.splice(j, 1);
    // What is larger now may go on where its parts did not: from the beginning. Each time there is one less.
    i = -1;
  }
  return left;
}

function isContinued(a: Part, b: Part): boolean {
  if (a.classId !== b.classId || a.tiles.some((tile) => b.tiles.includes(tile))) return false;
  return [
    [a, b, ACROSS, DOWN] as const,
    [b, a, ACROSS, DOWN] as const,
    [a, b, DOWN, ACROSS] as const,
    [b, a, DOWN, ACROSS] as const,
  ].some(([first, second, along, beside]) => {
    const faces = first.cut[along.high] && second.cut[along.low];
    const touches = second[along.low] <= first[along.high] && second[along.high] > first[along.high];
    return faces && touches && first[along.low] < second[along.low] && likeness(first, second, beside) >= ALIKE;
  });
}

function likeness(a: Part, b: Part, { low, high }: Axis): number {
  const shared = Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
  return shared / (Math.max(a[high], b[high]) - Math.min(a[low], b[low]));
}

/** A side of the whole is cut where the part that reaches furthest is. */
function join(a: Part, b: Part): Part {
  const leftmost = a.left <= b.left ? a : b;
  const topmost = a.top <= b.top ? a : b;
  const rightmost = a.right >= b.right ? a : b;
  const lowest = a.bottom >= b.bottom ? a : b;
  return {
    left: leftmost.left,
    top: topmost.top,
    right: rightmost.right,
    bottom: lowest.bottom,
    score: Math.max(a.score, b.score),
    classId: a.classId,
    cut: {
      left: leftmost.cut.left,
      top: topmost.cut.top,
      right: rightmost.cut.right,
      bottom: lowest.cut.bottom,
    },
    tiles: [...a.tiles, ...b.tiles],
  };
}
