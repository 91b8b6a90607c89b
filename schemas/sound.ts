/** The sound of a live source, for elements that send it on with the video. */
export const SOUND_CHANNEL = "sound";

/** One AAC frame. */
export interface SoundMessage {
  /** Unix time of its first sample, by the clock of the video. */
  readonly captureMs: number;
  /** The AudioSpecificConfig (base64). */
  readonly config: string;
  /** Without a header (base64). */
  readonly data: string;
}
