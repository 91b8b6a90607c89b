/** The video codecs, and what is the same for all of them. Another codec is a folder and a row of `CODECS`. */
import type { VideoCodec, VideoTrack } from "./access-unit.ts";
import type { Codec, NalKind, SetKind } from "./codec.ts";
import { H264 } from "./h264/codec.ts";
import { H265 } from "./h265/codec.ts";

export const CODECS: Readonly<Record<VideoCodec, Codec>> = { h264: H264, h265: H265 };

const ALL: readonly Codec[] = Object.values(CODECS);

/** "H.264 or H.265", for texts. */
export const SUPPORTED_VIDEO = ALL.map(({ title }) => title).join(" or ");

export const codecOf = ({ codec }: Pick<VideoTrack, "codec">): Codec => CODECS[codec];

export const findByEncoding = (encoding: string): Codec | undefined => ALL.find((codec) => codec.encoding === encoding);

export const isParameterSet = (codec: Codec, nal: Uint8Array): boolean => isSetKind(codec.kindOf(nal));

export const isSetKind = (kind: NalKind): kind is SetKind => kind === "vps" || kind === "sps" || kind === "pps";

/** One set of each kind out of a keyframe or an SDP; null if one is missing. */
export function findSets(codec: Codec, nals: readonly Uint8Array[]): readonly Uint8Array[] | null {
  const sets = codec.setKinds.map((kind) => nals.find((nal) => codec.kindOf(nal) === kind));
  return sets.every((set) => set !== undefined) ? sets : null;
}

export const findSet = (codec: Codec, sets: readonly Uint8Array[], kind: SetKind): Uint8Array =>
  sets.find((nal) => codec.kindOf(nal) === kind) ?? new Uint8Array(0);

export const areSameSets = (a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean =>
  a.length === b.length && a.every((set, i) => Buffer.compare(set, b[i] ?? new Uint8Array(0)) === 0);

/** The track of these sets, one of each kind. Throws a `MediaError` unless the SPS is valid. */
export function describeTrack(codec: Codec, sets: readonly Uint8Array[], reorders?: boolean): VideoTrack {
  const { picture } = codec.readSet(findSet(codec, sets, "sps"));
  const { width = 0, height = 0, reorderFrames = null } = picture ?? {};
  return { codec: codec.name, sets, width, height, reorders: reorders ?? (reorderFrames ?? 0) > 0 };
}
