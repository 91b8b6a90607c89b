/** Summarises tracks and reports changes once per second, and each ended track once more. */
import type { Box, Track, Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import {
  MOST_REPORTED_POINTS,
  MOST_REPORTED_TRACKS,
  type ReportedTrack,
  type TrackPoint,
  type TrackReport,
} from "../../schemas/track-report.ts";
import type { Frame, Handler } from "../element.ts";
import { LiveTrack, type Thinning } from "./live-track.ts";
import { Patches, type PatchFrame, type Sighting } from "./patches.ts";

type ReportFrame = PatchFrame & Pick<Frame, "captureNs" | "inputSize" | "meta">;

export interface ReportSettings extends Thinning {
  /** Whether images are taken, and the maximum length of their longer side. */
  readonly patches: boolean;
  readonly patchPixels: number;
}

/** In the time of the frames: at pace fast no clock is read. */
const REPORT_EVERY_MS = 1_000;
/** `track` ends tracks earlier; this bounds the state if a seek hides an end. */
const FORGOTTEN_MS = 120_000;
/** Characters of images per message, so that no message delays the next ones. */
const MAX_PATCHES_LENGTH = 256 * 1024;

/** Reads `tracks` and `places`. */
export class ReportHandler implements Pick<Handler, "flush"> {
  readonly #live = new Map<number, LiveTrack>();
  /** Ended, but not reported yet. */
  #ended: LiveTrack[] = [];
  readonly #send: (report: TrackReport) => Promise<void>;
  readonly #patches: Patches;
  #settings: ReportSettings;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(
    settings: ReportSettings,
    send: (report: TrackReport) => Promise<void>,
    onPatchFault: (error: unknown) => void = () => {},
  ) {
    this.#settings = settings;
    this.#send = send;
    this.#patches = new Patches(onPatchFault);
  }

  async process(frame: ReportFrame): Promise<void> {
    const tracks = frame.meta.tracks as Tracks;
    const nowMs = Number(frame.captureNs / 1_000_000n);
    if (tracks.inferred) {
      const seen = this.#see(tracks, frame, nowMs);
      const { patches, patchPixels } = this.#settings;
      if (patches) await this.#patches.take(frame, seen, nowMs, patchPixels);
    }
    for (const id of tracks.ended) this.#end(this.#live.get(id));
    const isDue = Math.abs(nowMs - this.#reportedMs) >= REPORT_EVERY_MS;
    if (!isDue && this.#ended.length === 0) return;
    if (!isDue) return await this.#report([]);
    this.#reportedMs = nowMs;
    this.#endForgotten(nowMs);
    await this.#report([...this.#live.values()].filter(({ hasNews }) => hasNews));
  }

  update(settings: ReportSettings): void {
    this.#settings = settings;
  }

  /** `track` drops all its tracks: none of these ids returns. */
  flush(): void {
    for (const track of [...this.#live.values()]) this.#end(track);
  }

  async end(): Promise<void> {
    this.flush();
    await this.#report([]);
  }

  /** A graph that fails sends no end of stream: report the tracks here. */
  close(): Promise<void> {
    return this.end();
  }

  #see({ objects }: Tracks, { inputSize, meta }: ReportFrame, timeMs: number): readonly Sighting[] {
    const places = meta.places as Places | undefined;
    const seen: Sighting[] = [];
    for (const [index, track] of objects.entries()) {
      if (track.predicted) continue;
      const spot = places?.objects[index]?.spot ?? null;
      const box = toPixels(track.box, inputSize);
      const live = this.#find(track);
      live.see(track, { timeMs, confidence: track.confidence, box, spot }, this.#settings);
      seen.push({ holder: live, track });
    }
    return seen;
  }

  #find({ id }: Track): LiveTrack {
    const known = this.#live.get(id);
    if (known !== undefined) return known;
    const track = new LiveTrack(id);
    this.#live.set(id, track);
    return track;
  }

  #end(track: LiveTrack | undefined): void {
    if (track === undefined) return;
    track.end();
    this.#live.delete(track.id);
    this.#ended.push(track);
  }

  #endForgotten(nowMs: number): void {
    for (const track of [...this.#live.values()])
      if (Math.abs(nowMs - track.lastSeenMs) > FORGOTTEN_MS) this.#end(track);
  }

  /** In as many messages as needed, each of bounded size. */
  async #report(changed: readonly LiveTrack[]): Promise<void> {
    const pending = [...this.#ended, ...changed];
    this.#ended = [];
    let tracks: ReportedTrack[] = [];
    let room = MOST_REPORTED_POINTS;
    let patches = 0;
    const flush = async (): Promise<void> => {
      const report = { tracks };
      [tracks, room, patches] = [[], MOST_REPORTED_POINTS, 0];
      if (report.tracks.length > 0) await this.#send(report);
    };
    for (const track of pending)
      while (track.hasNews) {
        if (patches + track.patchLength > MAX_PATCHES_LENGTH) await flush();
        patches += track.patchLength;
        const reported = track.report(room);
        tracks.push(reported);
        room -= reported.points.length;
        if (room <= 0 || tracks.length >= MOST_REPORTED_TRACKS) await flush();
      }
    await flush();
  }
}

/** Rounded to a hundredth, as in the detection message. */
const toPixels = (box: Box, { width, height }: Frame["inputSize"]): TrackPoint["box"] =>
  box.map((value, axis) => Math.round(value * (axis % 2 === 0 ? width : height) * 100) / 100 + 0) as Box;
