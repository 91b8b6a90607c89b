/**
 * Sends a Cursor on Target event for every geolocated track, and on request for the camera, for ATAK, WinTAK and TAK
 * servers. Frames never wait for the network: events that cannot be sent are dropped and counted.
 */
import { Type } from "typebox";
import { COT_URL, COT_URL_MEANS } from "../../schemas/cot-target.ts";
import { defineElement } from "../element.ts";

const nullable = (maxLength: number, description: string) =>
  Type.Union([Type.String({ minLength: 1, maxLength }), Type.Null()], { default: null, description });

export default defineElement({
  kind: "sink",
  name: "cot",
  about: "Sends geolocated tracks, and the camera, to maps as Cursor on Target events over UDP, TCP, TLS or MQTT.",
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
    camera: Type.Boolean({
      default: false,
      live: true,
      description: "Also send the position of the camera, its field of view, and the point that it looks at.",
    }),
    callsign: Type.String({
      default: "camera",
      minLength: 1,
      maxLength: 40,
      live: true,
      description: "Name of the camera on maps.",
    }),
    videoUrl: nullable(2048, "Address of the video that TAK clients open for the camera; null for none."),
    authorities: nullable(
      65_536,
      "Certificates (PEM) of the authorities that a TAK server is trusted by; null for the public ones.",
    ),
    serverName: nullable(255, "Name in the certificate of the TAK server, if it is not the host of the URL."),
    certificate: nullable(65_536, "Client certificate for a TAK server, with its chain (PEM)."),
    key: nullable(65_536, "Private key of the client certificate (PEM), not encrypted."),
  }),
  reads: ["tracks", "places", { optional: "telemetry" }],
  caps: "ANY",
  needsAllFrames: () => false,
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { CotHandler } = await import("./handler.ts");
    return new CotHandler(properties, services);
  },
});
