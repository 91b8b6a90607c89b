/** The sound of a source, for elements that send it on with the video. */
export const SOUND_CHANNEL = "sound";

/** One AAC frame, or the name of a codec that is not passed on. */
export type SoundMessage = SoundFrame | { readonly unsupported: string };

export interface SoundFrame {
  /** Unix time of its first sample, by the clock of the video. */
  readonly captureMs: number;
  /** The AudioSpecificConfig (base64). */
  readonly config: string;
  /** Without a header (base64). */
  readonly data: string;
}
