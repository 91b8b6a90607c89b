/** The recent path of one object, in fractions of the frame. */

interface Stop {
  /** Number of the time span that the stop covers. */
  readonly span: number;
  /** Sums over the frames of that span: the mean has less jitter than single boxes. */
  x: number;
  y: number;
  count: number;
}

/** Stops per trail: enough for a smooth line, few enough for a hundred objects. */
const STOPS = 16;

export class Trail {
  #stops: Stop[] = [];

  add(timeMs: number, x: number, y: number, lengthMs: number): void {
    const span = Math.floor((timeMs * STOPS) / lengthMs);
    const last = this.#stops.at(-1);
    // The trail length changed, or the clock was set back: earlier stops are invalid.
    if (last !== undefined && (span < last.span || span - last.span > STOPS)) this.#stops = [];
    if (last?.span === span && this.#stops.length > 0) {
      last.x += x;
      last.y += y;
      last.count += 1;
    } else {
      this.#stops.push({ span, x, y, count: 1 });
    }
    while ((this.#stops[0]?.span ?? span) < span - STOPS) this.#stops.shift();
  }

  clear(): void {
    this.#stops = [];
  }

  /**
   * x, y, x, y … in pixels from the oldest stop to `end`; null if all stops are within `stillness` pixels of `end`. Omits
   * stops nearer than half of that to the previous one, and stops that the simplified line passes within `tolerance`.
   */
  trace(
    frame: { width: number; height: number },
    end: readonly [number, number],
    stillness: number,
    tolerance: number,
  ): Float32Array | null {
    const points = new Float32Array(this.#stops.length * 2 + 2);
    const apart = (stillness / 2) ** 2;
    let farthest = 0;
    let next = 0;
    for (const stop of this.#stops) {
      const x = (stop.x / stop.count) * frame.width;
      const y = (stop.y / stop.count) * frame.height;
      if (next > 0 && (x - (points[next - 2] ?? 0)) ** 2 + (y - (points[next - 1] ?? 0)) ** 2 < apart) continue;
      farthest = Math.max(farthest, (x - end[0]) ** 2 + (y - end[1]) ** 2);
      points[next] = x;
      points[next + 1] = y;
      next += 2;
    }
    points[next] = end[0];
    points[next + 1] = end[1];
    return farthest < stillness ** 2 ? null : straighten(points.subarray(0, next + 2), tolerance);
  }
}

/** Simplifies the line in place: each segment is as long as all points between stay within `tolerance`. */
function straighten(points: Float32Array, tolerance: number): Float32Array {
  let kept = 0;
  for (let from = 0; from < points.length - 2; ) {
    let to = from + 2;
    while (to + 2 < points.length && isStraight(points, from, to + 2, tolerance)) to += 2;
    kept += 2;
    points[kept] = points[to] ?? 0;
    points[kept + 1] = points[to + 1] ?? 0;
    from = to;
  }
  return points.subarray(0, kept + 2);
}

/** Whether all points between two lie near the segment between them. */
function isStraight(points: Float32Array, from: number, to: number, tolerance: number): boolean {
  const x = points[from] ?? 0;
  const y = points[from + 1] ?? 0;
  const dx = (points[to] ?? 0) - x;
  const dy = (points[to + 1] ?? 0) - y;
  const squared = dx * dx + dy * dy;
  for (let at = from + 2; at < to; at += 2) {
    const right = (points[at] ?? 0) - x;
    const down = (points[at + 1] ?? 0) - y;
    const along = right * dx + down * dy;
    const beside = right * dy - down * dx;
    if (along < 0 || along > squared || beside * beside > tolerance * tolerance * squared) return false;
  }
  return true;
}
