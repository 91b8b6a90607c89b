/**
 * Sends encoded video as an MPEG transport stream over UDP or SRT, with the camera's position and attitude as KLV (MISB ST 0601) and
 * the tracks as targets (ST 0903), for ground stations and video exploitation systems.
 */
import { Type } from "typebox";
import { TRANSPORT_URL, TRANSPORT_URL_MEANS } from "../../schemas/transport-target.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "mpegts",
  about: "Sends H.264 or H.265 video as MPEG-TS over UDP or SRT, with telemetry and tracks as KLV metadata.",
  example: `
graph: mpegts-example
about: Send a test picture as a transport stream.
chains:
  main:
    - source: { uri: "test:ball", pace: realtime }
    - decode
    - encode: { keyframe-seconds: 1 }
    - mpegts: { url: "udp://127.0.0.1:5004" }
`,
  properties: Type.Object({
    url: Type.String({ maxLength: 2048, pattern: TRANSPORT_URL, description: TRANSPORT_URL_MEANS }),
    address: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: "IP address to send to instead of resolving the host of the URL.",
    }),
    metadata: Type.Enum(["synchronous", "asynchronous", "none"], {
      default: "synchronous",
      description: "How KLV is carried: in cells with the PTS of its frame, as plain KLV with a PTS, or not at all.",
    }),
    audio: Type.Boolean({
      default: false,
      description: "Sends the sound of the source with the video, if it is AAC. It is not encoded again.",
    }),
  }),
  reads: [{ optional: "telemetry" }, { optional: "tracks" }, { optional: "places" }],
  wholeFrame: true,
  caps: "video/x-h264,stream-format=byte-stream,alignment=au;video/x-h265,stream-format=byte-stream,alignment=au",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { mpegtsHandler } = await import("./handler.ts");
    return mpegtsHandler(properties, services);
  },
});
