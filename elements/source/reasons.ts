/** GStreamer's words for why a camera does not play, in words that say what to do. The first that fits. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/\b401\b|unauthori[sz]ed/i, "it wants a user name and password, or other ones than these (401)"],
  [/\b403\b|forbidden/i, "it refuses this user (403)"],
  [/\b404\b/, "it has no such path (404)"],
  [/\b45[39]\b|\b503\b/, "it is busy and takes no further player"],
  [/resolv|name or service not known/i, "its host name is not known"],
  [/refused/i, "nothing listens there (connection refused)"],
  [/failed to connect/i, "it cannot be reached: is the address right, and is it switched on?"],
  [/timeout|timed out/i, "it does not answer"],
  [/no stream that fits/i, "it sends no video"],
];

export function explainReason(text: string): string {
  return REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}
