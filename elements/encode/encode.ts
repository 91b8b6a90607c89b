/**
 * Raw video to H.264 or H.265 for people who watch live: no B-frames, no look-ahead, a constant rate, and a key frame
 * every so many seconds so that a viewer who joins sees a picture soon. Every key frame carries its parameter sets.
 */
import { Type } from "typebox";
import { defineElement, ExpandFault } from "../element.ts";
import { chooseHardwareEncoder, chooseSoftwareEncoder, type EncoderOrder } from "./encoders.ts";

const PACKAGES = { h264: "gstreamer1.0-plugins-ugly", h265: "gstreamer1.0-plugins-bad" } as const;

/**
 * Encoders count key frames in frames, and the frame rate is not known before the stream runs: `keyframes` asks for
 * them by time, and the encoder's own count, right for this many frames a second, is only there should that fail.
 */
const HIGHEST_FPS = 240;

/** For moving pictures with boxes on them, at the effort of the default preset. */
const KBPS = { "360p": 1000, "720p": 2500, "1080p": 4500 } as const;
const KBPS_OF_ANY = 3000;

export default defineElement({
  kind: "composite",
  name: "encode",
  about: "Encodes to H.264 or H.265 with low latency, in hardware where there is some.",
  example: `
graph: encode-example
about: Encode a test picture at one megabit and record it.
chains:
  main:
    - source: { uri: "test:ball?seconds=2" }
    - decode
    - encode: { bitrate-kbps: 1000, keyframe-seconds: 1 }
    - record: { path: ball.mp4 }
`,
  properties: Type.Object({
    codec: Type.Enum(["h264", "h265"], { default: "h264", description: "What to encode to." }),
    bitrateKbps: Type.Union([Type.Integer({ minimum: 50, maximum: 100_000 }), Type.Null()], {
      default: null,
      live: true,
      description: "Rate of the stream, in kilobits a second; null takes what suits `resolution`.",
    }),
    resolution: Type.Union([Type.Enum(["360p", "720p", "1080p"]), Type.Null()], {
      default: null,
      description: "What `resize` made of the picture before, for a rate that is not given; null where it did nothing.",
    }),
    keyframeSeconds: Type.Number({
      default: 2,
      minimum: 0.1,
      maximum: 60,
      description: "Time between two key frames.",
    }),
    preset: Type.Enum(["ultrafast", "superfast", "veryfast", "faster", "fast", "medium"], {
      default: "veryfast",
      description: "Effort of the software encoder: slower presets look better at the same rate.",
    }),
    hardware: Type.Enum(["auto", "never"], {
      default: "auto",
      description: "auto uses a hardware encoder of this machine; never uses software alone.",
    }),
  }),
  expand({ codec, bitrateKbps: wantedKbps, resolution, keyframeSeconds, preset, hardware }, { registry }) {
    const bitrateKbps = wantedKbps ?? (resolution === null ? KBPS_OF_ANY : KBPS[resolution]);
    const order: EncoderOrder = { bitrateKbps, preset, keyframeFrames: Math.ceil(keyframeSeconds * HIGHEST_FPS) };
    const encoder =
      (hardware === "auto" ? chooseHardwareEncoder(codec, order, registry) : null) ??
      chooseSoftwareEncoder(codec, order, registry);
    if (encoder === null)
      throw new ExpandFault(
        "codec",
        `this machine has no encoder for ${codec}: install the Debian package ${PACKAGES[codec]}`,
      );
    return {
      nodes: [
        // 4:2:0 has no odd sizes: an encoder refuses them, so a picture of odd size loses a row or a column here.
        { suffix: "convert", factory: "videoconvertscale", properties: { "add-borders": false } },
        {
          suffix: "format",
          factory: "capsfilter",
          properties: { caps: "video/x-raw,format={I420,NV12},width=[2,32768,2],height=[2,32768,2]" },
        },
        { suffix: "keyframes", factory: "keyframes", properties: { interval: Math.round(keyframeSeconds * 1e9) } },
        { suffix: "encoder", ...encoder },
        { suffix: "parse", factory: `${codec}parse`, properties: { "config-interval": -1 } },
        {
          suffix: "stream",
          factory: "capsfilter",
          properties: { caps: `video/x-${codec},stream-format=byte-stream,alignment=au` },
        },
      ],
    };
  },
});
