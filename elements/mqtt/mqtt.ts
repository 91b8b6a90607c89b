/**
 * Publishes detection messages to topics of an MQTT broker: one message per frame on which inference ran, or one for
 * each track or class if the topic names it. Frames never wait for the network: messages that cannot be sent are dropped
 * and counted, the oldest first.
 */
import { Type } from "typebox";
import { MQTT_URL, MQTT_URL_MEANS } from "../../schemas/mqtt-target.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "mqtt",
  about: "Publishes detections and tracks to topics of an MQTT broker, as JSON.",
  example: `
graph: mqtt-example
about: Publish the position of every track twice a second.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - mqtt: { url: "mqtt://broker.example/yard/tracks/{track_id}?qos=1&interval_ms=500" }
`,
  properties: Type.Object({
    url: Type.String({ maxLength: 2048, pattern: MQTT_URL, description: MQTT_URL_MEANS }),
    address: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: "IP address to connect to instead of resolving the host of the URL.",
    }),
    sourceUuid: Type.String({
      default: "00000000-0000-0000-0000-000000000000",
      minLength: 1,
      description: "For `{source_uuid}` in the topic.",
    }),
  }),
  reads: [{ oneOf: ["tracks", "detections"] }, { optional: "places" }],
  caps: "ANY",
  needsAllFrames: () => false,
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { MqttHandler } = await import("./handler.ts");
    return new MqttHandler(properties, services);
  },
});
