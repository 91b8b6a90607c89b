/** Bodies of RTMP's video and audio messages: FLV (Adobe, annex E.4) and enhanced RTMP, which names codecs by FourCC. */
import { MediaError } from "../access-unit.ts";

export type VideoBody =
  /** An AVCDecoderConfigurationRecord, sent first. */
  | { readonly kind: "config"; readonly config: Uint8Array }
  /** Length-prefixed NAL units. `compositionMs`: PTS minus DTS. */
  | { readonly kind: "picture"; readonly compositionMs: number; readonly nals: Uint8Array }
  /** End of sequence, seek mark, metadata. */
  | { readonly kind: "nothing" }
  | { readonly kind: "unsupported"; readonly codec: string };

export type AudioBody =
  /** An AudioSpecificConfig. */
  | { readonly kind: "config"; readonly config: Uint8Array }
  | { readonly kind: "frame"; readonly frame: Uint8Array }
  | { readonly kind: "nothing" }
  | { readonly kind: "unsupported"; readonly codec: string };

const NOTHING = { kind: "nothing" } as const;
const AVC = 7;
const VIDEO_CODECS: Readonly<Record<number, string>> = {
  2: "Sorenson H.263",
  3: "Screen Video",
  4: "VP6",
  5: "VP6",
  6: "Screen Video",
  12: "H.265",
  13: "AV1",
};
const VIDEO_FOUR_CC: Readonly<Record<string, string>> = {
  hvc1: "H.265",
  hev1: "H.265",
  av01: "AV1",
  vp09: "VP9",
  vp08: "VP8",
};
const AAC = 10;
const AUDIO_CODECS: Readonly<Record<number, string>> = {
  ...{ 0: "PCM", 1: "ADPCM", 2: "MP3", 3: "PCM", 4: "Nellymoser", 5: "Nellymoser", 6: "Nellymoser" },
  ...{ 7: "G.711", 8: "G.711", 11: "Speex", 14: "MP3" },
};
const AUDIO_FOUR_CC: Readonly<Record<string, string>> = {
  Opus: "Opus",
  fLaC: "FLAC",
  "ac-3": "AC-3",
  "ec-3": "E-AC-3",
};

/** Enhanced RTMP: bit 7 of the first byte of video, the codec number of audio, and the packet types. */
const ENHANCED_VIDEO = 0x80;
const ENHANCED_AUDIO = 9;
const PACKET = { begin: 0, frames: 1, end: 2, framesWithoutTime: 3, metadata: 4 } as const;
const SEEK_MARK = 5;

/** Throws a `MediaError` if the body is truncated. */
export function readVideo(body: Buffer): VideoBody {
  const first = body[0];
  if (first === undefined) return NOTHING;
  if ((first & ENHANCED_VIDEO) !== 0) return readEnhancedVideo(body, first & 15);
  if (first >> 4 === SEEK_MARK) return NOTHING;
  const codec = first & 15;
  if (codec !== AVC) return unsupported(VIDEO_CODECS[codec] ?? `codec ${codec}`);
  if (body.length < 5) throw truncated();
  // The first two of FLV's three packet types are those of enhanced RTMP.
  return readAvc(body, body.readUInt8(1), 2);
}

function readEnhancedVideo(body: Buffer, packet: number): VideoBody {
  if (body.length < 5) throw truncated();
  const name = body.toString("latin1", 1, 5);
  if (packet > PACKET.metadata) return unsupported(`enhanced RTMP with packets of type ${packet}`);
  if (name !== "avc1") return unsupported(VIDEO_FOUR_CC[name] ?? `codec ${JSON.stringify(name)}`);
  return readAvc(body, packet, 5);
}

function readAvc(body: Buffer, packet: number, at: number): VideoBody {
  const isFlv = at === 2;
  switch (packet) {
    case PACKET.begin:
      return { kind: "config", config: body.subarray(isFlv ? at + 3 : at) };
    case PACKET.frames:
      if (body.length < at + 3) throw truncated();
      return { kind: "picture", compositionMs: body.readIntBE(at, 3), nals: body.subarray(at + 3) };
    case PACKET.framesWithoutTime:
      return isFlv ? NOTHING : { kind: "picture", compositionMs: 0, nals: body.subarray(at) };
    default:
      return NOTHING;
  }
}

export function readAudio(body: Buffer): AudioBody {
  const first = body[0];
  if (first === undefined) return NOTHING;
  const codec = first >> 4;
  if (codec === ENHANCED_AUDIO) {
    const name = body.toString("latin1", 1, 5);
    if (name !== "mp4a") return unsupported(AUDIO_FOUR_CC[name] ?? `codec ${JSON.stringify(name)}`);
    return readAac(first & 15, body.subarray(5));
  }
  if (codec !== AAC) return unsupported(AUDIO_CODECS[codec] ?? `codec ${codec}`);
  return readAac(body[1], body.subarray(2));
}

function readAac(packet: number | undefined, rest: Buffer): AudioBody {
  if (rest.length === 0) return NOTHING;
  if (packet === PACKET.begin) return { kind: "config", config: rest };
  return packet === PACKET.frames ? { kind: "frame", frame: rest } : NOTHING;
}

const unsupported = (codec: string) => ({ kind: "unsupported", codec }) as const;
const truncated = () => new MediaError("a video message is truncated");

const KEY = 1;
const INTER = 2;
/** The field has 24 bits, signed. */
const MAX_COMPOSITION_MS = 2 ** 23 - 1;

export const writeVideoConfig = (config: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of((KEY << 4) | AVC, PACKET.begin, 0, 0, 0), config]);

export function writePicture(nals: readonly Uint8Array[], isKey: boolean, compositionMs: number): Uint8Array {
  const body = Buffer.allocUnsafe(nals.reduce((sum, nal) => sum + 4 + nal.length, 5));
  body[0] = ((isKey ? KEY : INTER) << 4) | AVC;
  body[1] = PACKET.frames;
  body.writeIntBE(Math.min(compositionMs, MAX_COMPOSITION_MS), 2, 3);
  let at = 5;
  for (const nal of nals) {
    body.writeUInt32BE(nal.length, at);
    body.set(nal, at + 4);
    at += 4 + nal.length;
  }
  return body;
}

/** AAC, 44 kHz, 16 bit, stereo: FLV requires this byte for any AAC configuration. */
const AAC_HEAD = 0xaf;

export const writeAudioConfig = (config: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(AAC_HEAD, PACKET.begin), config]);

export const writeAudioFrame = (frame: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(AAC_HEAD, PACKET.frames), frame]);
