/** The clocks of the tracks in our files. */
import type { AudioTrack } from "../unit.ts";

export const VIDEO_ID = 1;
export const AUDIO_ID = 2;
/** Ticks a second, as RTP has them: what came by RTP keeps its times exactly. */
export const VIDEO_SCALE = 90_000;
/** One tick a sample. */
export const audioScale = (track: AudioTrack): number => track.sampleRate;

export const toTicks = (us: number, scale: number): number => Math.round((us * scale) / 1e6);
export const toUs = (ticks: number, scale: number): number => Math.round((ticks * 1e6) / scale);
