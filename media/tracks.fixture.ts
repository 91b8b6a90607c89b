import type { Tracks } from "./access-unit.ts";

/** H.264 of 320 × 240 without B-frames, and AAC. */
export const TRACKS: Tracks = {
  video: {
    codec: "h264",
    sets: ["Z0LADdkBQfsBEAAAAwAQAAADAyDxQqSA", "aMuDyyA="].map((text) => Buffer.from(text, "base64")),
    width: 320,
    height: 240,
    reorders: false,
  },
  audio: { codec: "aac", config: Uint8Array.of(0x12, 0x10), sampleRate: 44_100, channels: 2 },
};
