const MOST_MS = 600_000;

/** `Retry-After`: seconds or a date of HTTP, and no more than ten minutes. Null when it says nothing of use. */
export function readRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  const written = text.trim();
  const ms = /^\d{1,9}$/.test(written) ? Number(written) * 1000 : readDateMs(written) - nowMs;
  return Number.isFinite(ms) ? Math.min(MOST_MS, Math.max(0, ms)) : null;
}

/** Dates of HTTP begin with the day of the week; others are read by guessing. */
const readDateMs = (text: string): number => (/^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN);
