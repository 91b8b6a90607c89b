/** The channels of telemetry by name. */
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { ChannelNeeds, TelemetryChannel } from "./channel.ts";
import { openMqtt } from "./channels/mqtt.ts";
import { openStatic } from "./channels/static.ts";
import { openWebsocket } from "./channels/websocket.ts";

const CHANNELS: Readonly<Record<TelemetrySetting["type"], (needs: ChannelNeeds) => TelemetryChannel>> = {
  mqtt: openMqtt,
  websocket: openWebsocket,
  static: openStatic,
};

/** Returns at once: a channel that is not there yet is tried until it is closed. */
export const openChannel = (type: TelemetrySetting["type"], needs: ChannelNeeds): TelemetryChannel =>
  CHANNELS[type](needs);
