/** The body of a video message: FLV's (Adobe, annex E.4.3), and that of enhanced RTMP, where a name stands for the codec. */
import { MediaFault } from "../fault.ts";

export type VideoBody =
  /** An AVCDecoderConfigurationRecord: it comes first. */
  | { readonly kind: "config"; readonly config: Uint8Array }
  /** NAL units with their lengths in front. `compositionMs`: it is shown so much later than it is decoded. */
  | { readonly kind: "picture"; readonly compositionMs: number; readonly nals: Uint8Array }
  /** Ends of sequences, seek marks, metadata: nothing to show. */
  | { readonly kind: "nothing" }
  | { readonly kind: "foreign"; readonly codec: string };

const NOTHING = { kind: "nothing" } as const;
const AVC = 7;
const CODECS: Readonly<Record<number, string>> = {
  2: "Sorenson H.263",
  3: "Screen Video",
  4: "VP6",
  5: "VP6",
  6: "Screen Video",
  12: "H.265",
  13: "AV1",
};
const FOUR_CC: Readonly<Record<string, string>> = {
  hvc1: "H.265",
  hev1: "H.265",
  av01: "AV1",
  vp09: "VP9",
  vp08: "VP8",
};

/** Bit 7 of enhanced RTMP's first byte, and its packet types. */
const ENHANCED = 0x80;
const PACKET = { begin: 0, frames: 1, end: 2, framesWithoutTime: 3, metadata: 4 } as const;
const SEEK_MARK = 5;

/** Throws a `MediaFault` where the body is cut off. */
export function readVideo(body: Buffer): VideoBody {
  const first = body[0];
  if (first === undefined) return NOTHING;
  if ((first & ENHANCED) !== 0) return readEnhanced(body, first & 15);
  if (first >> 4 === SEEK_MARK) return NOTHING;
  const codec = first & 15;
  if (codec !== AVC) return { kind: "foreign", codec: CODECS[codec] ?? `codec ${codec}` };
  if (body.length < 5) throw new MediaFault("a video message is cut off");
  // Of FLV's three types the first two are those of enhanced RTMP.
  return readAvc(body, body.readUInt8(1), 2);
}

function readEnhanced(body: Buffer, packet: number): VideoBody {
  if (body.length < 5) throw new MediaFault("a video message is cut off");
  const name = body.toString("latin1", 1, 5);
  if (packet > PACKET.metadata) return { kind: "foreign", codec: `enhanced RTMP with packets of type ${packet}` };
  if (name !== "avc1") return { kind: "foreign", codec: FOUR_CC[name] ?? `codec ${JSON.stringify(name)}` };
  return readAvc(body, packet, 5);
}

function readAvc(body: Buffer, packet: number, at: number): VideoBody {
  const isFlv = at === 2;
  switch (packet) {
    case PACKET.begin:
      return { kind: "config", config: body.subarray(isFlv ? at + 3 : at) };
    case PACKET.frames:
      if (body.length < at + 3) throw new MediaFault("a video message is cut off");
      return { kind: "picture", compositionMs: body.readIntBE(at, 3), nals: body.subarray(at + 3) };
    case PACKET.framesWithoutTime:
      return isFlv ? NOTHING : { kind: "picture", compositionMs: 0, nals: body.subarray(at) };
    default:
      return NOTHING;
  }
}

const KEY = 1;
const INTER = 2;
/** What 24 bits hold. */
const LATEST_MS = 2 ** 23 - 1;

export const writeVideoConfig = (config: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of((KEY << 4) | AVC, PACKET.begin, 0, 0, 0), config]);

export function writePicture(nals: readonly Uint8Array[], isKey: boolean, compositionMs: number): Uint8Array {
  const body = Buffer.allocUnsafe(nals.reduce((sum, nal) => sum + 4 + nal.length, 5));
  body[0] = ((isKey ? KEY : INTER) << 4) | AVC;
  body[1] = PACKET.frames;
  body.writeIntBE(Math.min(compositionMs, LATEST_MS), 2, 3);
  let at = 5;
  for (const nal of nals) {
    body.writeUInt32BE(nal.length, at);
    body.set(nal, at + 4);
    at += 4 + nal.length;
  }
  return body;
}
