/**
 * Sends encoded video to an RTSP or RTMP server for as long as the graph runs. Frames never wait for the network: what a
 * server is too slow for, or misses while it is away, is dropped and counted, and a lost server is tried again and again.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "publish",
  about: "Sends H.264 video to an RTSP or RTMP server, and comes back to it when it was away.",
  example: `
graph: publish-example
about: A test picture for whoever plays it from a server.
chains:
  main:
    - source: { uri: "test:ball", pace: realtime }
    - decode
    - encode: { keyframe-seconds: 1 }
    - publish: { url: "rtsp://127.0.0.1:8554/anna/yard" }
`,
  properties: Type.Object({
    url: Type.String({
      pattern: "^(rtsp|rtmps?)://[^/?#\\s\\\\]+/[^\\s\\\\]+$",
      description: "Where to: rtsp://, rtmp:// or rtmps://, with user and password if the server wants them.",
    }),
    address: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description:
        "The number to connect to instead of looking up the host of the URL, which the server is told all the same.",
    }),
  }),
  caps: "video/x-h264,stream-format=byte-stream,alignment=au",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { PublishHandler } = await import("./handler.ts");
    return new PublishHandler(properties, services);
  },
});
