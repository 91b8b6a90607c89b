/**
 * Reads and writes SDP (RFC 8866) as RTSP uses it. Hand-written instead of `sdp-transform`: it reads only the four
 * attributes needed, in linear time, with limits on lines and sections that the package does not have.
 */
import { readAudioConfig } from "../aac/config.ts";
import type { AudioTrack, Tracks } from "../access-unit.ts";
import type { Codec } from "../codec.ts";
import { codecOf, describeTrack, findSets } from "../codecs.ts";
import type { AacLayout } from "../rtp/aac.ts";

export interface SdpMedia {
  /** `video`, `audio`, or any other text. */
  readonly kind: string;
  readonly payloadType: number;
  /** In upper case, `H264`; empty without an rtpmap. */
  readonly encoding: string;
  readonly clockRate: number;
  /** `fmtp`, by lower-case names. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Relative, absolute, or empty. */
  readonly control: string;
}

const MAX_LINES = 512;
const MAX_MEDIA = 16;
export const VIDEO_CLOCK = 90_000;
export const VIDEO_TYPE = 96;
export const AUDIO_TYPE = 97;
export const KLV_TYPE = 98;
export const KLV_CLOCK = 90_000;
/** RFC 6597. */
const KLV_ENCODING = "SMPTE336M";
const AAC_FRAME_SAMPLES = 1024;

/** Null unless it is an SDP within the limits. */
export function readSdp(text: string): SdpMedia[] | null {
  const lines = text.split(/\r\n|\r|\n/).filter((line) => line !== "");
  if (lines.length > MAX_LINES || !/^v=0\s*$/.test(lines[0] ?? "")) return null;
  const sections: string[][] = [];
  for (const line of lines) {
    if (line.startsWith("m=")) sections.push([line]);
    else sections.at(-1)?.push(line);
  }
  return sections.length > MAX_MEDIA ? null : sections.map(readMedia);
}

function readMedia([first = "", ...lines]: readonly string[]): SdpMedia {
  const [kind = "", , , format = ""] = first.slice(2).trim().split(/\s+/);
  const payloadType = /^\d{1,3}$/.test(format) ? Number(format) : -1;
  const find = (prefix: string): string =>
    lines
      .find((line) => line.startsWith(prefix))
      ?.slice(prefix.length)
      .trim() ?? "";
  const [encoding = "", rate = ""] = find(`a=rtpmap:${payloadType} `).split("/");
  const clockRate = /^\d{1,9}$/.test(rate) ? Number(rate) : 0;
  const parameters = readParameters(find(`a=fmtp:${payloadType} `));
  return { kind, payloadType, encoding: encoding.toUpperCase(), clockRate, parameters, control: find("a=control:") };
}

function readParameters(text: string): Map<string, string> {
  return new Map(
    text.split(";").map((part): [string, string] => {
      const at = part.indexOf("=");
      return at === -1
        ? [part.trim().toLowerCase(), ""]
        : [part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim()];
    }),
  );
}

/** One parameter set of each kind; null if one is missing or the SPS is invalid: then they are in the stream. */
export function readParameterSets(codec: Codec, { parameters }: SdpMedia): readonly Uint8Array[] | null {
  const sets = findSets(codec, codec.readSprop(parameters));
  if (sets === null) return null;
  try {
    describeTrack(codec, sets);
  } catch {
    return null;
  }
  return sets;
}

/** Null unless it is AAC by RFC 3640. */
export function readAac(media: SdpMedia): { track: AudioTrack; layout: AacLayout } | null {
  const { encoding, parameters, clockRate } = media;
  if (encoding !== "MPEG4-GENERIC" || !/^aac-[hl]br$/i.test(parameters.get("mode") ?? "")) return null;
  const sizeBits = Number(parameters.get("sizelength"));
  const indexBits = Number(parameters.get("indexlength"));
  const isUsable = sizeBits >= 1 && sizeBits <= 16 && indexBits >= 0 && indexBits <= 16 && clockRate > 0;
  if (!isUsable || !Number.isInteger(sizeBits + indexBits)) return null;
  const config = Buffer.from(parameters.get("config") ?? "", "hex");
  try {
    const { sampleRate, channels } = readAudioConfig(config);
    const frameTicks = Math.round((AAC_FRAME_SAMPLES * clockRate) / sampleRate);
    return {
      track: { codec: "aac", config, sampleRate, channels },
      layout: { sizeBits, indexBits, frameTicks },
    };
  } catch {
    return null;
  }
}

export const isKlvMedia = ({ kind, encoding, clockRate }: SdpMedia): boolean =>
  kind === "application" && encoding === KLV_ENCODING && clockRate > 0;

/** For players, and for servers to publish to. The tracks are numbered: `trackID=0` is the video, then audio and metadata. */
export function writeSdp({ video, audio, klv }: Tracks): string {
  const codec = codecOf(video);
  const lines = [
    "v=0",
    "o=- 0 0 IN IP4 127.0.0.1",
    "s=Windhover",
    "c=IN IP4 0.0.0.0",
    "t=0 0",
    "a=control:*",
    "a=range:npt=now-",
    `m=video 0 RTP/AVP ${VIDEO_TYPE}`,
    `a=rtpmap:${VIDEO_TYPE} ${codec.encoding}/${VIDEO_CLOCK}`,
    `a=fmtp:${VIDEO_TYPE} ${codec.writeFmtp(video.sets)}`,
    `a=control:${trackControl(0)}`,
  ];
  if (audio !== null) {
    const config = Buffer.from(audio.config).toString("hex");
    lines.push(
      `m=audio 0 RTP/AVP ${AUDIO_TYPE}`,
      `a=rtpmap:${AUDIO_TYPE} mpeg4-generic/${audio.sampleRate}/${audio.channels}`,
      `a=fmtp:${AUDIO_TYPE} streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=${config}`,
      `a=control:${trackControl(1)}`,
    );
  }
  if (klv !== undefined) {
    lines.push(
      `m=application 0 RTP/AVP ${KLV_TYPE}`,
      `a=rtpmap:${KLV_TYPE} ${KLV_ENCODING}/${KLV_CLOCK}`,
      `a=control:${trackControl(audio === null ? 1 : 2)}`,
    );
  }
  return `${lines.join("\r\n")}\r\n`;
}

export const trackControl = (index: number): string => `trackID=${index}`;
