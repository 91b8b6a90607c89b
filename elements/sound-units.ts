/** The sound of a live source, for the pictures that it belongs to. */
import { readAudioConfig } from "../media/aac/config.ts";
import { type AccessUnit, type AudioTrack, MediaError, type Tracks } from "../media/access-unit.ts";
import { SOUND_CHANNEL, type SoundMessage } from "../schemas/sound.ts";
import type { Services } from "./element.ts";

/** Some seconds: pictures arrive later than sound, by the time that they are processed. */
const MAX_FRAMES = 512;
/** Capture times of frames are less exact than the number of their samples. */
const TOLERANCE_US = 60_000;
/** Of AAC. */
const SAMPLES = 1024;

export class SoundUnits {
  readonly #stop: () => void;
  #pending: SoundMessage[] = [];
  #track: AudioTrack | null = null;
  /** Of `#track`. */
  #config: string | null = null;
  #nextUs: number | null = null;
  #lastUs = -1;
  #made: Tracks | null = null;
  #joined: Tracks | null = null;

  constructor(services: Pick<Services, "listen">) {
    this.#stop = services.listen(SOUND_CHANNEL, (message) => {
      this.#pending.push(message as unknown as SoundMessage);
      if (this.#pending.length > MAX_FRAMES) this.#pending.shift();
    });
  }

  /** The picture, and what was to be heard up to then. A stream gets its sound at a keyframe, in a new connection. */
  join(unit: AccessUnit, tracks: Tracks): { readonly units: readonly AccessUnit[]; readonly tracks: Tracks } {
    const due = this.#takeUntil(unit.captureMs);
    if (unit.isKey) this.#chooseTrack(due.at(-1));
    if (tracks !== this.#made || (unit.isKey && this.#joined?.audio !== this.#track)) {
      this.#made = tracks;
      this.#joined = { ...tracks, audio: this.#track };
      [this.#nextUs, this.#lastUs] = [null, -1];
    }
    const joined = this.#joined ?? tracks;
    const sound = joined.audio === null ? [] : due.flatMap((frame) => this.#place(frame, unit, joined.audio));
    return { units: [unit, ...sound], tracks: joined };
  }

  close(): void {
    this.#stop();
  }

  #takeUntil(captureMs: number): readonly SoundMessage[] {
    const later = this.#pending.findIndex((frame) => frame.captureMs > captureMs);
    return this.#pending.splice(0, later === -1 ? this.#pending.length : later);
  }

  #chooseTrack(newest: SoundMessage | undefined): void {
    if (newest === undefined || newest.config === this.#config) return;
    this.#config = newest.config;
    const config = Buffer.from(newest.config, "base64");
    try {
      this.#track = { codec: "aac", config, ...readAudioConfig(config) };
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      this.#track = null;
    }
  }

  /** None for a frame from before the first picture, or of another configuration. */
  #place({ captureMs, config, data }: SoundMessage, unit: AccessUnit, track: AudioTrack | null): AccessUnit[] {
    if (track === null || config !== this.#config) return [];
    const shownUs = Math.round(unit.ptsUs + (captureMs - unit.captureMs) * 1000);
    const isNext = this.#nextUs !== null && Math.abs(this.#nextUs - shownUs) < TOLERANCE_US;
    const ptsUs = Math.max(isNext ? (this.#nextUs ?? shownUs) : shownUs, this.#lastUs + 1);
    if (ptsUs < 0) return [];
    this.#nextUs = ptsUs + (SAMPLES * 1_000_000) / track.sampleRate;
    this.#lastUs = Math.round(ptsUs);
    const times = { dtsUs: this.#lastUs, ptsUs: this.#lastUs };
    return [{ kind: "audio", ...times, captureMs, isKey: true, parts: [Buffer.from(data, "base64")] }];
  }
}
