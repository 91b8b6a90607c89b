/**
 * Publishes encoded video to an RTSP or RTMP server while the graph runs. Frames never wait for the network: frames that
 * a slow or offline server misses are dropped and counted, and the element reconnects with backoff.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "publish",
  about: "Publishes H.264 video to an RTSP or RTMP server, with reconnects.",
  example: `
graph: publish-example
about: Publish a test picture to a server.
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
      description: "Destination: rtsp://, rtmp:// or rtmps://, with user and password if the server requires them.",
    }),
    address: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description:
        "IP address to connect to instead of resolving the host of the URL. The request still names the host.",
    }),
  }),
  caps: "video/x-h264,stream-format=byte-stream,alignment=au",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { PublishHandler } = await import("./handler.ts");
    return new PublishHandler(properties, services);
  },
});
