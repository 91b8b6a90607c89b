/**
 * Coded video and audio inside Windhover, independent of the protocol that carries it: one access unit is one H.264
 * picture or one AAC frame.
 */

/** Received bytes do not follow their format. The message may be sent to the peer. */
export class MediaError extends Error {}

export interface VideoTrack {
  readonly codec: "h264";
  /** Without start code or length. Keyframes start with the current SPS and every PPS; the PPS may differ from this one. */
  readonly sps: Uint8Array;
  readonly pps: Uint8Array;
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

export interface Tracks {
  readonly video: VideoTrack;
  readonly audio: AudioTrack | null;
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
  /** H.264: NAL units without start codes and delimiters, SPS and PPS first in a keyframe. AAC: one raw frame. */
  readonly parts: readonly Uint8Array[];
}

export function byteLength({ parts }: AccessUnit): number {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return bytes;
}
