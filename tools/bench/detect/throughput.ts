/** Frames out against frames in, of a stream that is taken in the middle: neither its start nor its end counts. Pure. */

export interface Passage {
  readonly arrivedMs: number;
  /** Null: it never left. */
  readonly leftMs: number | null;
}

export interface Throughput {
  /** The lower of two: how many of the frames that came have left, and how fast they left against how fast they came. */
  readonly kept: number;
  readonly inFps: number;
  readonly outFps: number;
}

/** Of the frames, at either end. */
const LEFT_OUT = 0.2;

/** `frames` in the order in which they came. */
export function measureThroughput(frames: readonly Passage[]): Throughput {
  const edge = Math.floor(frames.length * LEFT_OUT);
  const middle = frames.slice(edge, frames.length - edge);
  const passed = middle.flatMap(({ arrivedMs, leftMs }) => (leftMs === null ? [] : [{ arrivedMs, leftMs }]));
  const spanMs = (middle.at(-1)?.arrivedMs ?? 0) - (middle[0]?.arrivedMs ?? 0);
  const inFps = ((middle.length - 1) * 1000) / spanMs;
  const share = passed.length / middle.length;
  const outFps = (share * inFps) / fitSlope(passed);
  return { kept: Math.min(share, outFps / inFps), inFps, outFps };
}

/**
 * Milliseconds between departures for each between arrivals, by least squares: frames leave in bursts, one a look, and
 * from the first to the last of them would depend on where in a burst these two are.
 */
function fitSlope(passed: readonly { readonly arrivedMs: number; readonly leftMs: number }[]): number {
  const arrivedMs = mean(passed.map((frame) => frame.arrivedMs));
  const leftMs = mean(passed.map((frame) => frame.leftMs));
  let together = 0;
  let alone = 0;
  for (const frame of passed) {
    together += (frame.arrivedMs - arrivedMs) * (frame.leftMs - leftMs);
    alone += (frame.arrivedMs - arrivedMs) ** 2;
  }
  return together / alone;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
