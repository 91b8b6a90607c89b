/**
 * What differs between video codecs. Everything outside of the folder of a codec is written against this interface; the
 * codecs are listed in `media/codecs.ts`.
 */
import type { VideoCodec } from "./access-unit.ts";

/** Parameter sets, from the outermost to the innermost: each refers to one of the kind before it. */
export type SetKind = "vps" | "sps" | "pps";

/** `other`: no reader needs it. */
export type NalKind = SetKind | "slice" | "sei" | "other";

export interface ParameterSet {
  readonly kind: SetKind;
  readonly id: number;
  /** Id of the set that it refers to: the SPS of a PPS, the VPS of an SPS. Null: of none. */
  readonly refersTo: number | null;
  /** Of an SPS. */
  readonly picture: PictureFacts | null;
}

export interface PictureFacts {
  /** As displayed, after cropping. */
  readonly width: number;
  readonly height: number;
  /** Pictures that can precede one that is displayed earlier. Null if the stream does not state it. */
  readonly reorderFrames: number | null;
}

/** A decoder configuration record, which carries parameter sets in FLV and MP4. */
export interface DecoderConfig {
  /** In the order of the kinds. May be empty: then they are in the stream. */
  readonly parameterSets: readonly Uint8Array[];
  /** Bytes of the length prefix of each NAL unit. */
  readonly lengthSize: number;
}

/** How NAL units are packed into RTP payloads. */
export interface RtpPacking {
  /** Of a NAL unit, and of a payload: they have the same form. */
  readonly headerBytes: number;
  /** Types of payloads with several NAL units, and with a part of one. Types up to `lastSingle` are NAL units. */
  readonly aggregate: number;
  readonly fragment: number;
  readonly lastSingle: number;
  typeOf(payload: Uint8Array): number;
  /** A picture starts here, whatever was before it. */
  startsPicture(nal: Uint8Array): boolean;
  /** The header of an aggregate of these NAL units. */
  writeAggregateHeader(nals: readonly Uint8Array[]): Uint8Array;
  /** The header of a fragment of this NAL unit. `flags`: that it is the first or last. */
  writeFragmentHeader(nal: Uint8Array, flags: number): Uint8Array;
  /** The header of the NAL unit that this fragment is a part of. */
  readFragmentHeader(payload: Uint8Array): Uint8Array;
}

export interface Codec {
  readonly name: VideoCodec;
  /** For people: `H.264`. */
  readonly title: string;
  /** In SDP. */
  readonly encoding: string;
  /** Sample entry of MP4, and name in enhanced RTMP. */
  readonly fourCc: string;
  /** MP4 box of the decoder configuration. */
  readonly configBox: string;
  /** Kinds of parameter sets that a decoder needs. */
  readonly setKinds: readonly SetKind[];
  readonly rtp: RtpPacking;
  kindOf(nal: Uint8Array): NalKind;
  /** Decoding can start with the picture that this NAL unit belongs to. */
  startsDecoding(nal: Uint8Array): boolean;
  /** A slice of a picture that refers to pictures before the keyframe: not decodable if decoding started there. */
  isUndecodableAfterJoin(slice: Uint8Array): boolean;
  /** The picture may be displayed before one that was decoded earlier. `reorderFrames`: of its SPS. */
  mayReorder(slice: Uint8Array, reorderFrames: number | null): boolean;
  /** Throws a `MediaError` unless it is a valid parameter set. */
  readSet(nal: Uint8Array): ParameterSet;
  /** Id of the PPS that a slice refers to. Null if it is not readable. */
  readPpsId(slice: Uint8Array): number | null;
  /** Throws a `MediaError`. */
  readConfig(bytes: Uint8Array): DecoderConfig;
  /** One set of each kind. NAL units have a length of 4 bytes. */
  writeConfig(sets: readonly Uint8Array[]): Uint8Array;
  /** RFC 6381: `avc1.64001f`. */
  describe(sets: readonly Uint8Array[]): string;
  /** Parameter sets in the `fmtp` of an SDP, by lower-case names of its parameters; those that are not base64 are not valid. */
  readSprop(parameters: ReadonlyMap<string, string>): readonly Uint8Array[];
  writeFmtp(sets: readonly Uint8Array[]): string;
  /** Why NAL units that are packed as this `fmtp` states cannot be unpacked. Null: they can. */
  findUnsupported(parameters: ReadonlyMap<string, string>): string | null;
}
