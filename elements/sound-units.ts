/** The sound of a source, placed by capture time beside the pictures that it belongs to. */
import { SAMPLES } from "../media/aac/adts.ts";
import { readAudioConfig } from "../media/aac/config.ts";
import { type AccessUnit, type AudioTrack, MediaError, type Tracks } from "../media/access-unit.ts";
import { SOUND_CHANNEL, type SoundFrame, type SoundMessage } from "../schemas/sound.ts";
import type { Services } from "./element.ts";

/** Some seconds: pictures arrive later than sound, by the time that they are processed. */
const MAX_FRAMES = 512;
/** How long the first picture waits for sound. Added later, it needs a new connection. */
const WAIT_US = 2_000_000;
/** Frames further from the end of the frame before are after a gap, or repeated. */
const GAP_US = 40_000;
/** Capture times are less exact than the number of samples: an offset is removed within a few seconds. */
const FOLLOW = 1 / 64;

export class SoundUnits {
  /** The reason for missing sound, once it is known. */
  detail: string | null = null;
  readonly #stop: () => void;
  #pending: SoundFrame[] = [];
  #track: AudioTrack | null = null;
  /** Of `#track`. */
  #config: string | null = null;
  /** Of the newest frame. */
  #newest: string | null = null;
  #unsupported: string | null = null;
  /** PTS of the first picture. */
  #firstUs: number | null = null;
  #isWaiting = true;
  /** End of the last frame. */
  #nextUs: number | null = null;
  #made: Tracks | null = null;
  #joined: Tracks | null = null;

  constructor(services: Pick<Services, "listen">) {
    this.#stop = services.listen(SOUND_CHANNEL, (message) => this.#receive(message as unknown as SoundMessage));
  }

  /** The picture, and the sound up to then. None while the first pictures wait for sound. */
  join(unit: AccessUnit, tracks: Tracks): { readonly units: readonly AccessUnit[]; readonly tracks: Tracks } {
    this.#firstUs ??= unit.ptsUs;
    const due = this.#takeUntil(unit.captureMs);
    if (unit.isKey) this.#chooseTrack(unit.ptsUs - this.#firstUs);
    if (this.#isWaiting) return { units: [], tracks };
    if (tracks !== this.#made || (unit.isKey && this.#joined?.audio !== this.#track)) {
      this.#made = tracks;
      this.#joined = { ...tracks, audio: this.#track };
    }
    const joined = this.#joined ?? tracks;
    const { audio } = joined;
    const sound = audio === null ? [] : due.flatMap((frame) => this.#place(frame, unit, audio));
    return { units: [unit, ...sound], tracks: joined };
  }

  close(): void {
    this.#stop();
  }

  #receive(message: SoundMessage): void {
    if ("unsupported" in message) {
      this.#unsupported = message.unsupported;
      return;
    }
    this.#newest = message.config;
    this.#pending.push(message);
    if (this.#pending.length > MAX_FRAMES) this.#pending.shift();
  }

  #takeUntil(captureMs: number): readonly SoundFrame[] {
    const later = this.#pending.findIndex((frame) => frame.captureMs > captureMs);
    return this.#pending.splice(0, later === -1 ? this.#pending.length : later);
  }

  /** At a keyframe: other tracks need a new connection. */
  #chooseTrack(waitedUs: number): void {
    if (this.#newest !== null && this.#newest !== this.#config) {
      this.#config = this.#newest;
      this.#nextUs = null;
      this.#track = readTrack(Buffer.from(this.#newest, "base64"));
    }
    if (this.#track === null && this.#unsupported === null && waitedUs < WAIT_US) return;
    this.#isWaiting = false;
    const reason = this.#unsupported === null ? "the source has no sound" : describeCodec(this.#unsupported);
    this.detail = this.#track === null ? `without sound: ${reason}` : null;
  }

  /** None for a frame from before the first picture, whose time is taken, or of another configuration. */
  #place({ captureMs, config, data }: SoundFrame, unit: AccessUnit, track: AudioTrack): AccessUnit[] {
    if (config !== this.#config) return [];
    const shownUs = unit.ptsUs + (captureMs - unit.captureMs) * 1000;
    const expectedUs = this.#nextUs ?? shownUs;
    const offUs = shownUs - expectedUs;
    if (offUs < -GAP_US) return [];
    const startUs = offUs > GAP_US ? shownUs : expectedUs + offUs * FOLLOW;
    if (startUs < 0) return [];
    this.#nextUs = startUs + (SAMPLES * 1_000_000) / track.sampleRate;
    const ptsUs = Math.round(startUs);
    return [
      {
        kind: "audio",
        ...{ dtsUs: ptsUs, ptsUs, isKey: true },
        // By the clock of the pictures: receivers align both by it.
        captureMs: unit.captureMs + (ptsUs - unit.ptsUs) / 1000,
        parts: [Buffer.from(data, "base64")],
      },
    ];
  }
}

const describeCodec = (name: string): string => `the source sends ${name}; only AAC is passed on`;

function readTrack(config: Uint8Array): AudioTrack | null {
  try {
    return { codec: "aac", config, ...readAudioConfig(config) };
  } catch (error) {
    if (!(error instanceof MediaError)) throw error;
    return null;
  }
}
