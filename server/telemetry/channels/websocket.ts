/** Telemetry that a client sends to the socket `telemetry` of the process; server/streams has the socket itself. */
import type { ChannelNeeds, TelemetryChannel } from "../channel.ts";

export function openWebsocket({ take }: ChannelNeeds): TelemetryChannel {
  let isOpen = true;
  return {
    advice: "nothing has come yet; send messages to the telemetry_url that the start of the process answered",
    receive(message) {
      if (isOpen) take(message);
    },
    close() {
      isOpen = false;
    },
  };
}
