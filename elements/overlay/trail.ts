/** Where one object has been, in fractions of the frame. */

interface Stop {
  /** Number of the span of time that the stop stands for. */
  readonly span: number;
  /** Sums over the frames of that time: their mean does not tremble as single boxes do. */
  x: number;
  y: number;
  count: number;
}

/** Stops of a whole trail: enough for a smooth line, few enough for a hundred objects. */
const STOPS = 24;

export class Trail {
  #stops: Stop[] = [];

  add(timeMs: number, x: number, y: number, lengthMs: number): void {
    const span = Math.floor((timeMs * STOPS) / lengthMs);
    const last = this.#stops.at(-1);
    // Another length, or a clock that was set back: what was noted before means nothing now.
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

  /** x, y, x, y … in pixels from the oldest stop to `end`; null when it all lies within `stillness` pixels of there. */
  trace(
    frame: { width: number; height: number },
    end: readonly [number, number],
    stillness: number,
  ): Float32Array | null {
    const points = new Float32Array(this.#stops.length * 2 + 2);
    let farthest = 0;
    for (const [i, { x, y, count }] of this.#stops.entries()) {
      points[2 * i] = (x / count) * frame.width;
      points[2 * i + 1] = (y / count) * frame.height;
      farthest = Math.max(farthest, Math.hypot((points[2 * i] ?? 0) - end[0], (points[2 * i + 1] ?? 0) - end[1]));
    }
    points.set(end, points.length - 2);
    return farthest < stillness ? null : points;
  }
}
