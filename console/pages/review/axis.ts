/** The visible part of a time line: zoom, pan and its ticks. Pure. */

/** Milliseconds: Unix time, or from the start of the video. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const MIN_MS = 10_000;

export const lengthOf = ({ fromMs, toMs }: Span): number => toMs - fromMs;
export const isIn = ({ fromMs, toMs }: Span, ms: number): boolean => ms >= fromMs && ms < toMs;

/** Of the length: 0 is its start. */
export const fractionOf = (span: Span, ms: number): number => (ms - span.fromMs) / lengthOf(span);
export const timeAt = (span: Span, fraction: number): number => span.fromMs + fraction * lengthOf(span);

/** As long as it was, if there is room. */
function within(view: Span, whole: Span): Span {
  const length = Math.min(Math.max(lengthOf(view), Math.min(MIN_MS, lengthOf(whole))), lengthOf(whole));
  const fromMs = Math.min(Math.max(view.fromMs, whole.fromMs), whole.toMs - length);
  return { fromMs, toMs: fromMs + length };
}

/** `factor` below 1 shows less. The time `atMs` stays where it is. */
export function zoomAt(view: Span, whole: Span, atMs: number, factor: number): Span {
  const length = Math.min(Math.max(lengthOf(view) * factor, MIN_MS), lengthOf(whole));
  const fromMs = atMs - fractionOf(view, atMs) * length;
  return within({ fromMs, toMs: fromMs + length }, whole);
}

/** By a fraction of its length; positive: later. */
export function panBy(view: Span, whole: Span, fraction: number): Span {
  const by = lengthOf(view) * fraction;
  return within({ fromMs: view.fromMs + by, toMs: view.toMs + by }, whole);
}

const FITTED_MS = 5 * 60_000;
const MARGIN = 0.1;

/** A part with some room around it, and at least some minutes. Of most of the whole, the whole. */
export function fit(part: Span, whole: Span): Span {
  const length = Math.max(lengthOf(part) * (1 + 2 * MARGIN), FITTED_MS);
  if (length > lengthOf(whole) * 0.6) return { fromMs: whole.fromMs, toMs: whole.toMs };
  const fromMs = (part.fromMs + part.toMs - length) / 2;
  return within({ fromMs, toMs: fromMs + length }, whole);
}

/** Moved only if the time is not visible: then it is in the middle. */
export function showTime(view: Span, whole: Span, ms: number): Span {
  if (isIn(view, ms)) return view;
  const half = lengthOf(view) / 2;
  return within({ fromMs: ms - half, toMs: ms + half }, whole);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [1, 2, 5, 10, 15, 30]
  .map((seconds) => seconds * SECOND)
  .concat([1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE))
  .concat([1, 2, 3, 4, 6, 12, 24].map((hours) => hours * HOUR));

/** Round times, at most `most` of them. `offsetMs`: of the time zone, so that hours of the day are round. */
export function ticksOf(view: Span, most: number, offsetMs = 0): readonly number[] {
  const step = STEPS.find((one) => lengthOf(view) / one <= Math.max(1, most)) ?? 24 * HOUR;
  const ticks: number[] = [];
  for (let ms = Math.ceil((view.fromMs + offsetMs) / step) * step - offsetMs; ms < view.toMs; ms += step)
    ticks.push(ms);
  return ticks;
}
