/** Video and audio of a publisher, encoded by ffmpeg. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { keepFileSync } from "../../test/kept-files.fixture.ts";
import type { AccessUnit, Tracks, VideoCodec } from "../access-unit.ts";
import { CODECS, describeTrack } from "../codecs.ts";
import { splitLengths } from "../h264/nal.ts";

export interface ClipOptions {
  readonly seconds?: number;
  readonly fps?: number;
  /** Pictures from one keyframe to the next. */
  readonly gop?: number;
  readonly bFrames?: number;
  readonly hasAudio?: boolean;
  readonly size?: string;
  /** H.265 has open GOPs, as x265 makes them: pictures after a keyframe refer to some before it. */
  readonly codec?: VideoCodec;
  /** Arguments of the input, instead of a test picture. */
  readonly input?: readonly string[];
  /** `yuv420p` by default. */
  readonly pixels?: string;
  /** More arguments of the encoder. */
  readonly encoder?: readonly string[];
}

export interface Clip {
  readonly tracks: Tracks;
  /** In decoding order, with audio. */
  readonly units: readonly AccessUnit[];
  readonly pictures: number;
}

interface Packet {
  readonly codec_type: "video" | "audio";
  readonly pts_time: string;
  readonly dts_time: string;
  readonly size: string;
  readonly pos: string;
  readonly flags: string;
}

/** When the first picture of every clip was taken. */
export const CAPTURED_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

export function makeClip(options: ClipOptions = {}): Clip {
  const args = ["-v", "error", "-y", ...listArguments(options)];
  const video = keepFileSync([...args, "mp4"], (path) => execFileSync("ffmpeg", [...args, path]));
  const probe = ["-v", "error", "-show_packets", "-of", "json", video];
  const packets = keepFileSync([...args, "json"], (path) =>
    writeFileSync(path, execFileSync("ffprobe", probe, { maxBuffer: 2 ** 26 })),
  );
  return readClip(video, packets, options.codec ?? "h264", options.hasAudio ?? false);
}

function listArguments(options: ClipOptions) {
  const { seconds = 3, fps = 30, gop = 30, bFrames = 0, hasAudio, size = "320x180", codec = "h264" } = options;
  const { pixels = "yuv420p", encoder = [] } = options;
  const { input = ["-f", "lavfi", "-i", `testsrc2=size=${size}:rate=${fps}:duration=${seconds}`] } = options;
  const sound = ["-f", "lavfi", "-i", `sine=frequency=440:sample_rate=48000:duration=${seconds}`];
  return [
    ...input,
    ...(hasAudio ? sound : []),
    ...["-preset", "ultrafast", "-pix_fmt", pixels, ...ENCODERS[codec](gop, bFrames), ...encoder],
    ...(hasAudio ? ["-c:a", "aac", "-ac", "2"] : []),
    ...["-movflags", "+faststart", "-shortest"],
  ];
}

const ENCODERS: Readonly<Record<VideoCodec, (gop: number, bFrames: number) => readonly string[]>> = {
  h264: (gop, bFrames) => [
    ...["-c:v", "libx264", "-threads", "1"],
    ...["-g", `${gop}`, "-keyint_min", `${gop}`, "-sc_threshold", "0", "-bf", `${bFrames}`],
  ],
  h265: (gop, bFrames) => [
    ...["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params"],
    `keyint=${gop}:min-keyint=${gop}:scenecut=0:bframes=${bFrames}:b-adapt=0:open-gop=1:pools=1:frame-threads=1:log-level=error`,
  ],
};

function readClip(file: string, packetsFile: string, codecName: VideoCodec, hasAudio: boolean): Clip {
  const { packets } = JSON.parse(readFileSync(packetsFile, "utf8"));
  const bytes = readFileSync(file);
  const codec = CODECS[codecName];
  const box = bytes.indexOf(codec.configBox);
  const { parameterSets: sets, lengthSize } = codec.readConfig(
    bytes.subarray(box + 4, box - 4 + bytes.readUInt32BE(box - 4)),
  );
  const pictures = (packets as Packet[]).filter(({ codec_type }) => codec_type === "video");
  const first = Math.min(...pictures.map(({ dts_time }) => Number(dts_time)));
  const units = (packets as Packet[]).map((packet): AccessUnit => {
    const at = Number(packet.pos);
    const sample = bytes.subarray(at, at + Number(packet.size));
    const isKey = packet.flags.startsWith("K");
    const [dtsUs, ptsUs] = [packet.dts_time, packet.pts_time].map((time) =>
      Math.round((Number(time) - first) * 1e6),
    ) as [number, number];
    const captureMs = CAPTURED_MS + Math.round(ptsUs / 1000);
    if (packet.codec_type === "audio") return { kind: "audio", dtsUs, ptsUs, captureMs, isKey: true, parts: [sample] };
    const nals = splitLengths(sample, lengthSize);
    return { kind: "video", dtsUs, ptsUs, captureMs, isKey, parts: isKey ? [...sets, ...nals] : nals };
  });
  // AAC LC, 48 kHz, stereo.
  const audio = hasAudio
    ? { codec: "aac" as const, config: Uint8Array.of(0x11, 0x90), sampleRate: 48_000, channels: 2 }
    : null;
  // As in the hub, nothing precedes the first keyframe.
  const ordered = units
    .filter(({ dtsUs }) => dtsUs >= 0)
    .toSorted((a, b) => a.dtsUs - b.dtsUs || (a.kind === "video" ? -1 : 1));
  return {
    tracks: { video: describeTrack(codec, sets), audio },
    units: ordered,
    pictures: pictures.length,
  };
}
