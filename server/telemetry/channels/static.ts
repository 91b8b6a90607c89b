/** Telemetry that never changes: the parameters of the source are the one message. */
import type { ChannelNeeds, TelemetryChannel } from "../channel.ts";

export function openStatic({ parameters, take }: ChannelNeeds): TelemetryChannel {
  const payload = JSON.stringify({ ...parameters, timestamp: Date.now() / 1000 });
  take({ payload, isLasting: true });
  return { advice: "the parameters of the source are used", close() {} };
}
