/**
 * Coded video and audio inside Windhover, independent of the protocol that carries it: one access unit is one
 * picture of H.264 or H.265 with the KLV metadata that came with it, or one AAC frame.
 */

/** Received bytes do not follow their format. The message may be sent to the peer. */
export class MediaError extends Error {}

export type VideoCodec = "h264" | "h265";

export interface VideoTrack {
  /** The same for a whole publication. */
  readonly codec: VideoCodec;
  /**
   * One parameter set of each kind, without start code or length: VPS (H.265 only), SPS, PPS. Keyframes start with all sets
   * of the stream, of which all but the SPS may differ from these.
   */
  readonly sets: readonly Uint8Array[];
  readonly width: number;
  readonly height: number;
  /** The stream has B-frames: display order may differ from decoding order. */
  readonly reorders: boolean;
}

export interface AudioTrack {
  readonly codec: "aac";
  /** The AudioSpecificConfig. */
  readonly config: Uint8Array;
  readonly sampleRate: number;
  readonly channels: number;
}

/** How metadata is sent in MPEG-TS: in cells with the PTS of its picture, or as plain KLV with a PTS, which more programs read. */
export type KlvCarriage = "synchronous" | "asynchronous";

export interface Tracks {
  readonly video: VideoTrack;
  readonly audio: AudioTrack | null;
  /** Absent: the stream has no KLV metadata. */
  readonly klv?: KlvCarriage;
}

/** One unit of KLV metadata (SMPTE 336M), such as a packet of MISB ST 0601. */
export interface TimedKlv {
  /** On the timeline of the access units. */
  readonly ptsUs: number;
  readonly data: Uint8Array;
}

export interface AccessUnit {
  readonly kind: "video" | "audio";
  /**
   * Microseconds since the publication started, on one timeline for video and audio. The producer guarantees that `dtsUs`
   * strictly increases within a kind and that `ptsUs` is not before it.
   */
  readonly dtsUs: number;
  readonly ptsUs: number;
  /** Unix time of capture if the publisher sends it, otherwise of arrival. */
  readonly captureMs: number;
  /** Decoding can start here. Always true for audio. */
  readonly isKey: boolean;
  /** Video: NAL units without start codes and delimiters, parameter sets first in a keyframe. AAC: one raw frame. */
  readonly parts: readonly Uint8Array[];
  /** Of video: the metadata that arrived before the picture, after that of the picture before. */
  readonly klv?: readonly TimedKlv[];
}

export function byteLength({ parts, klv }: AccessUnit): number {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  if (klv !== undefined) for (const { data } of klv) bytes += data.length;
  return bytes;
}
