/**
 * Sends a Cursor on Target event for every geolocated track, for ATAK, WinTAK and TAK servers. Frames never wait for the
 * network: events that cannot be sent are dropped and counted.
 */
import { Type } from "typebox";
import { COT_URL, COT_URL_MEANS } from "../../schemas/cot-target.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "cot",
  about: "Sends geolocated tracks to maps as Cursor on Target events over UDP or MQTT.",
  example: `
graph: cot-example
about: Show objects on all TAK maps in this network.
chains:
  main:
    - source
    - decode
    - detect
    - telemetry
    - track
    - geolocate
    - cot: { url: "udp://239.2.3.1:6969" }
`,
  properties: Type.Object({
    url: Type.String({ maxLength: 2048, pattern: COT_URL, description: COT_URL_MEANS }),
    address: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: "IP address to send to instead of resolving the host of the URL.",
    }),
    intervalMs: Type.Integer({
      default: 1000,
      minimum: 50,
      maximum: 3_600_000,
      live: true,
      description: "Minimum time between two events of one track, in milliseconds.",
    }),
    staleSeconds: Type.Number({
      default: 15,
      minimum: 1,
      maximum: 86_400,
      live: true,
      description: "Time until an event becomes stale. The last event of an ended track is stale at once.",
    }),
    affiliation: Type.Enum(["u", "n", "f", "h"], {
      default: "u",
      live: true,
      description: "Affiliation of all objects: u unknown, n neutral, f friend, h hostile.",
    }),
  }),
  reads: ["tracks", "places"],
  caps: "ANY",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { CotHandler } = await import("./handler.ts");
    return new CotHandler(properties, services);
  },
});
