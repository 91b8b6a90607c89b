/** How far a run is: a bar where the end is known, else how much has come. */
import type { Paint } from "../terminal.ts";

export interface Progress {
  readonly elapsedMs: number;
  readonly frames: number;
  readonly fps: number;
  readonly positionNs: bigint | null;
  readonly durationNs: bigint | null;
}

const BAR_COLUMNS = 24;
const EIGHTHS = " ▏▎▍▌▋▊▉";

export function formatProgress(progress: Progress, paint: Paint): string {
  const { positionNs, durationNs, frames, fps, elapsedMs } = progress;
  const rate = `${formatRate(fps)} fps`;
  const count = `${frames} frames`;
  if (positionNs === null || durationNs === null || durationNs <= 0n) {
    const at = positionNs === null ? formatTime(elapsedMs / 1000) : formatTime(Number(positionNs) / 1e9);
    return [at, rate, count].join("  ");
  }
  const part = Math.min(1, Number(positionNs) / Number(durationNs));
  const left = part > 0 && elapsedMs > 500 ? (elapsedMs / 1000) * (1 / part - 1) : null;
  return [
    paint("cyan", formatBar(part)),
    `${Math.floor(part * 100)}%`.padStart(4),
    `${formatTime(Number(positionNs) / 1e9)} of ${formatTime(Number(durationNs) / 1e9)}`,
    rate,
    ...(left === null ? [] : [`${formatTime(Math.ceil(left), 0)} left`]),
  ].join("  ");
}

function formatBar(part: number): string {
  const eighths = Math.round(part * BAR_COLUMNS * 8);
  const whole = Math.floor(eighths / 8);
  const rest = whole < BAR_COLUMNS ? (EIGHTHS[eighths % 8] ?? " ") : "";
  return `▕${("█".repeat(whole) + rest).padEnd(BAR_COLUMNS)}▏`;
}

export const formatRate = (fps: number): string => (fps >= 100 ? fps.toFixed(0) : fps.toFixed(1));

/** `1:02.5`, `1:00:02.5`. */
export function formatTime(seconds: number, digits = 1): string {
  const whole = Math.max(0, seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = (Math.floor((whole % 60) * 10 ** digits) / 10 ** digits).toFixed(digits);
  const padded = rest.padStart(digits === 0 ? 2 : digits + 3, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${padded}` : `${minutes}:${padded}`;
}
