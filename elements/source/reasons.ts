/** GStreamer's words for why a camera does not play, in words that say what to do. The first that fits. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/\b401\b|unauthori[sz]ed/i, "it wants a user name and password, or other ones than these (401)"],
  [/\b403\b|forbidden/i, "it refuses this user (403)"],
  [/\b404\b/, "it has no such path (404)"],
  [/\b45[39]\b|\b503\b/, "it is busy and takes no further player"],
  [/resolv|name or service not known/i, "its host name is not known"],
  [/refused/i, "nothing listens there (connection refused)"],
  [/timeout|timed out/i, "it does not answer"],
  [/reset by peer|system error/i, "it cuts the connection off: is this the right port?"],
  [/parse error/i, "it does not speak RTSP: is this the right port?"],
  [/short read|end-of-file/i, "it closes the connection at once: is this the right port?"],
  [/eos before any data/i, "it sends nothing, or ends before any video has come: is the path right, and is it live?"],
  [/failed to connect/i, "it cannot be reached: is the address right, and is it switched on?"],
  [/no stream that fits/i, "it sends no video"],
];

/** Words that none fits are left, but for the full stop that GStreamer has before its details. */
export function explainReason(text: string): string {
  return REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? text.replaceAll(".: ", ": ");
}
