/**
 * Coded video and audio as it travels through the hub, whatever protocol brought it and whatever takes it away: one unit
 * is one picture of H.264 or one frame of AAC.
 */

export interface VideoTrack {
  readonly codec: "h264";
  /** Without start code or length. Key units begin with the SPS and every PPS as it is then; the PPS may have changed. */
  readonly sps: Uint8Array;
  readonly pps: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** Pictures may be shown in another order than they come in. */
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

export interface Unit {
  readonly kind: "video" | "audio";
  /**
   * Microseconds since the publication began, on one time line for both kinds: `dtsUs` grows strictly within a kind, and
   * `ptsUs` is never before it. Whoever publishes makes it so, whatever was received.
   */
  readonly dtsUs: number;
  readonly ptsUs: number;
  /** Unix time at which it was taken where the publisher tells, else at which it arrived. */
  readonly captureMs: number;
  /** Decoding may begin here. Always true of audio. */
  readonly isKey: boolean;
  /** H.264: NAL units without start codes, delimiters left out, a key unit's SPS and PPS first. AAC: one raw frame. */
  readonly parts: readonly Uint8Array[];
}
