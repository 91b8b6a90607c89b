/** Bodies of RTMP's video and audio messages: FLV (Adobe, annex E.4) and enhanced RTMP, which names codecs by FourCC. */
import { MediaError, type VideoCodec } from "../access-unit.ts";
import type { Codec } from "../codec.ts";
import type { Message } from "./message.ts";

export type VideoBody =
  /** A decoder configuration record, sent first. */
  | { readonly kind: "config"; readonly codec: VideoCodec; readonly config: Uint8Array }
  /** Length-prefixed NAL units. `compositionMs`: PTS minus DTS. */
  | {
      readonly kind: "picture";
      readonly codec: VideoCodec;
      readonly compositionMs: number;
      readonly nals: Uint8Array;
    }
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
/** Codec numbers of FLV; that of H.265 is not in the specification, but encoders use it. */
const FLV_CODECS: Readonly<Record<number, VideoCodec>> = { 7: "h264", 12: "h265" };
const FOUR_CC_CODECS: Readonly<Record<string, VideoCodec>> = { avc1: "h264", hvc1: "h265" };
const VIDEO_CODECS: Readonly<Record<number, string>> = {
  2: "Sorenson H.263",
  3: "Screen Video",
  4: "VP6",
  5: "VP6",
  6: "Screen Video",
  13: "AV1",
};
const VIDEO_FOUR_CC: Readonly<Record<string, string>> = {
  vvc1: "H.266",
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
  if ((first & ENHANCED_VIDEO) !== 0) return readEnhancedVideo(body, first);
  if (first >> 4 === SEEK_MARK) return NOTHING;
  const codec = FLV_CODECS[first & 15];
  if (codec === undefined) return unsupported(VIDEO_CODECS[first & 15] ?? `codec ${first & 15}`);
  // Some encoders end a sequence without the composition time, which means nothing there.
  if (body[1] === PACKET.end) return NOTHING;
  if (body.length < 5) throw truncated();
  // The first two of FLV's three packet types are those of enhanced RTMP.
  return readCoded(codec, body, body.readUInt8(1), 2);
}

function readEnhancedVideo(body: Buffer, first: number): VideoBody {
  const packet = first & 15;
  // Metadata has this frame type, too, and is followed by the name of the codec; a command is not.
  if (((first >> 4) & 7) === SEEK_MARK && packet !== PACKET.metadata) return NOTHING;
  if (body.length < 5) throw truncated();
  const name = body.toString("latin1", 1, 5);
  if (packet > PACKET.metadata) return unsupported(`enhanced RTMP with packets of type ${packet}`);
  const codec = Object.hasOwn(FOUR_CC_CODECS, name) ? FOUR_CC_CODECS[name] : undefined;
  if (codec === undefined) return unsupported(VIDEO_FOUR_CC[name] ?? `codec ${JSON.stringify(name)}`);
  return readCoded(codec, body, packet, 5);
}

function readCoded(codec: VideoCodec, body: Buffer, packet: number, at: number): VideoBody {
  const isFlv = at === 2;
  switch (packet) {
    case PACKET.begin:
      return { kind: "config", codec, config: body.subarray(isFlv ? at + 3 : at) };
    case PACKET.frames:
      if (body.length < at + 3) throw truncated();
      return { kind: "picture", codec, compositionMs: body.readIntBE(at, 3), nals: body.subarray(at + 3) };
    case PACKET.framesWithoutTime:
      return isFlv ? NOTHING : { kind: "picture", codec, compositionMs: 0, nals: body.subarray(at) };
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

/** Header of an FLV tag, and the size of the tag before it. */
const TAG_BYTES = 11;
const BACK_BYTES = 4;

/**
 * The messages in an aggregate message: FLV tags. Their times are shifted so that the first has that of the aggregate. A
 * truncated tag ends it.
 */
export function readAggregate({ timestamp, streamId, body }: Message): Message[] {
  const messages: Message[] = [];
  let first: number | null = null;
  for (let at = 0; at + TAG_BYTES <= body.length; ) {
    const begin = at + TAG_BYTES;
    const end = begin + body.readUIntBE(at + 1, 3);
    if (end > body.length) break;
    const time = body.readUIntBE(at + 4, 3) + body.readUInt8(at + 7) * 2 ** 24;
    first ??= time;
    messages.push({
      ...{ type: body.readUInt8(at), streamId, timestamp: (timestamp + time - first) >>> 0 },
      body: body.subarray(begin, end),
    });
    at = end + BACK_BYTES;
  }
  return messages;
}

const unsupported = (codec: string) => ({ kind: "unsupported", codec }) as const;
const truncated = () => new MediaError("a video message is truncated");

const KEY = 1;
const INTER = 2;
/** The field has 24 bits, signed. */
const MAX_COMPOSITION_MS = 2 ** 23 - 1;

/** FLV has a number for H.264 only: other codecs are named, as enhanced RTMP has it. */
const AVC = 7;

/** Before the composition time. */
function writeHead({ name, fourCc }: Codec, frameType: number, packet: number): Buffer {
  if (name === "h264") return Buffer.of((frameType << 4) | AVC, packet);
  return Buffer.concat([Buffer.of(ENHANCED_VIDEO | (frameType << 4) | packet), Buffer.from(fourCc, "latin1")]);
}

/** `videocodecid` of `onMetaData`. */
export const videoCodecId = ({ name, fourCc }: Codec): number =>
  name === "h264" ? AVC : Buffer.from(fourCc, "latin1").readUInt32BE(0);

export function writeVideoConfig(codec: Codec, sets: readonly Uint8Array[]): Uint8Array {
  const head = writeHead(codec, KEY, PACKET.begin);
  // Only FLV's own form has a composition time here.
  return Buffer.concat([head, codec.name === "h264" ? Buffer.alloc(3) : Buffer.of(), codec.writeConfig(sets)]);
}

export function writePicture(
  codec: Codec,
  nals: readonly Uint8Array[],
  isKey: boolean,
  compositionMs: number,
): Uint8Array {
  const head = writeHead(codec, isKey ? KEY : INTER, PACKET.frames);
  const body = Buffer.allocUnsafe(nals.reduce((sum, nal) => sum + 4 + nal.length, head.length + 3));
  body.set(head, 0);
  let at = body.writeIntBE(Math.min(compositionMs, MAX_COMPOSITION_MS), head.length, 3);
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
