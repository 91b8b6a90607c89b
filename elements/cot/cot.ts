/**
 * Tells maps where the objects are: an event of Cursor on Target for every track that has a place on the ground, as ATAK,
 * WinTAK and TAK servers read it. Frames never wait for the network: what cannot be sent is dropped and counted.
 */
import { Type } from "typebox";
import { COT_URL, COT_URL_MEANS } from "../../schemas/cot-target.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "cot",
  about: "Sends tracks that have a place to maps, as Cursor on Target events over UDP or MQTT.",
  example: `
graph: cot-example
about: Objects on the maps of everybody in this network.
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
      description: "The number to send to instead of looking up the host of the URL.",
    }),
    intervalMs: Type.Integer({
      default: 1000,
      minimum: 50,
      maximum: 3_600_000,
      live: true,
      description: "Milliseconds between two events of one track, at least.",
    }),
    staleSeconds: Type.Number({
      default: 15,
      minimum: 1,
      maximum: 86_400,
      live: true,
      description:
        "How long an event counts when no other follows. Tracks that have ended are said to be stale at once.",
    }),
    affiliation: Type.Enum(["u", "n", "f", "h"], {
      default: "u",
      live: true,
      description: "What maps take all objects for: unknown, neutral, friend or hostile.",
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
