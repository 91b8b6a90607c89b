/**
 * Publishes encoded video to an RTSP, RTMP or SRT server while the graph runs: of an encoder, or as a camera sent it. Frames never
 * wait for the network: frames that a slow or offline server misses are dropped and counted, and the element reconnects with
 * backoff. Where frames were lost before it, it waits for the next keyframe.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "sink",
  name: "publish",
  about: "Publishes H.264 or H.265 video to an RTSP, RTMP or SRT server, with reconnects.",
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
      pattern: "^((rtsp|rtmps?)://[^/?#\\s\\\\]+/[^\\s\\\\]+|srt://[^/?#\\s\\\\]+/?([?][^\\s\\\\]*)?)$",
      description:
        "Destination: rtsp://, rtmp:// or rtmps://, with user and password if the server requires them; or srt://host:port?streamid=…&passphrase=…&latency=….",
    }),
    address: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description:
        "IP address to connect to instead of resolving the host of the URL. The request still names the host.",
    }),
    metadata: Type.Boolean({
      default: false,
      description:
        "Sends the KLV of a live source with the video, over RTSP and SRT. For video that is not encoded again.",
    }),
    audio: Type.Boolean({
      default: false,
      description: "Sends the sound of the source with the video, if it is AAC. It is not encoded again.",
    }),
  }),
  caps: "video/x-h264,stream-format={byte-stream,avc,avc3},alignment=au;video/x-h265,stream-format={byte-stream,hvc1,hev1},alignment=au",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { publishHandler } = await import("./handler.ts");
    return publishHandler(properties, services);
  },
});
