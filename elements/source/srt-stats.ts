/** The statistics of `srtsrc`. */
import type { SourceLink } from "../../schemas/runner.ts";

/**
 * Of its property `stats` as text: a structure, or that of a listener, with one structure per caller, quoted and escaped. Null:
 * it is not connected.
 */
export function readSrtStats(text: string): SourceLink | null {
  const plain = text.replaceAll("\\", "");
  const find = (name: string): number | null => {
    const at = plain.indexOf(` ${name}=(`);
    const value = at === -1 ? Number.NaN : Number.parseFloat(plain.slice(plain.indexOf(")", at) + 1));
    return Number.isFinite(value) && value >= 0 ? value : null;
  };
  const [received, lost] = [find("packets-received"), find("packets-received-lost")];
  const [roundTripMs, latencyMs] = [find("rtt-ms"), find("negotiated-latency-ms")];
  if (received === null || lost === null || roundTripMs === null || latencyMs === null) return null;
  return { round_trip_ms: roundTripMs, packets_received: received, packets_lost: lost, latency_ms: latencyMs };
}
