/**
 * Encodes raw video to H.264 or H.265 for live viewing: no B-frames, no look-ahead, constant bit rate, and periodic
 * keyframes so that a new viewer sees a picture soon. Every keyframe carries its parameter sets.
 */
import { Type } from "typebox";
import { defineElement, ExpandFault } from "../element.ts";
import { chooseHardwareEncoder, chooseSoftwareEncoder } from "./encoders.ts";

const PACKAGES = { h264: "gstreamer1.0-plugins-ugly", h265: "gstreamer1.0-plugins-bad" } as const;

/**
 * Encoders set the keyframe interval in frames, but the frame rate is unknown before the stream runs: `keyframes`
 * requests keyframes by time. The encoder's own interval, computed for this fps, is only a fallback.
 */
const HIGHEST_FPS = 240;

/** For video with overlays, at the default preset. */
const KBPS = { "360p": 1000, "720p": 2500, "1080p": 4500 } as const;
const DEFAULT_KBPS = 3000;
/** With these, the software encoders keep up with live video on few cores. */
const PRESETS = { h264: "veryfast", h265: "ultrafast" } as const;

export default defineElement({
  kind: "composite",
  name: "encode",
  about: "Encodes to H.264 or H.265 with low latency, in hardware if available.",
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
    codec: Type.Enum(["h264", "h265"], { default: "h264", description: "Output codec." }),
    bitrateKbps: Type.Union([Type.Integer({ minimum: 50, maximum: 100_000 }), Type.Null()], {
      default: null,
      live: true,
      description: "Bit rate in kbit/s; null chooses one by `resolution`.",
    }),
    resolution: Type.Union([Type.Enum(["360p", "720p", "1080p"]), Type.Null()], {
      default: null,
      description:
        "Output of the preceding `resize`, to choose the default bit rate; null if the frame was not resized.",
    }),
    keyframeSeconds: Type.Number({
      default: 2,
      minimum: 0.1,
      maximum: 60,
      description: "Time between two keyframes, in seconds.",
    }),
    preset: Type.Union([Type.Enum(["ultrafast", "superfast", "veryfast", "faster", "fast", "medium"]), Type.Null()], {
      default: null,
      description:
        "Speed of the software encoder: slower presets give better quality at the same bit rate. Null: veryfast for H.264, ultrafast for H.265, which costs several times as much.",
    }),
    hardware: Type.Enum(["auto", "never"], {
      default: "auto",
      description: "auto prefers a hardware encoder; never uses software encoders only.",
    }),
  }),
  expand({ codec, bitrateKbps: givenKbps, resolution, keyframeSeconds, preset, hardware }, { registry }) {
    const bitrateKbps = givenKbps ?? (resolution === null ? DEFAULT_KBPS : KBPS[resolution]);
    const settings = {
      bitrateKbps,
      preset: preset ?? PRESETS[codec],
      keyframeFrames: Math.ceil(keyframeSeconds * HIGHEST_FPS),
    };
    const encoder =
      (hardware === "auto" ? chooseHardwareEncoder(codec, settings, registry) : null) ??
      chooseSoftwareEncoder(codec, settings, registry);
    if (encoder === null)
      throw new ExpandFault(
        "codec",
        `this machine has no encoder for ${codec}: install the Debian package ${PACKAGES[codec]}`,
      );
    return {
      nodes: [
        // Encoders reject odd sizes in 4:2:0: scale them down by one row or column.
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
