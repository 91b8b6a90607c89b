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

export type ReportFrame = PatchFrame & Pick<Frame, "captureNs" | "inputSize" | "meta">;

export interface ReportSettings extends Thinning {
  /** Whether pictures are taken, and of how many pixels at most. */
  readonly patches: boolean;
  readonly patchPixels: number;
}

/** By the time of the pictures: at pace fast nothing reads the clock. */
const TELL_EVERY_MS = 1_000;
/** `track` gives everything up before; what it forgot in a seek must not stay here for ever. */
const FORGOTTEN_MS = 120_000;
/** Of pictures in one message, in characters, so that none holds up what comes behind it. */
const MAX_PATCHES_LENGTH = 256 * 1024;

/** Reads `tracks` and `places`. Holds live tracks only; those that ended are told of once more and are gone. */
export class ReportHandler implements Pick<Handler, "flush"> {
  readonly #live = new Map<number, LiveTrack>();
  /** Ended, and not told of yet. */
  #ended: LiveTrack[] = [];
  readonly #send: (report: TrackReport) => Promise<void>;
  readonly #patches: Patches;
  #settings: ReportSettings;
  #toldMs = Number.NEGATIVE_INFINITY;

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
    const isDue = Math.abs(nowMs - this.#toldMs) >= TELL_EVERY_MS;
    if (!isDue && this.#ended.length === 0) return;
    if (!isDue) return await this.#tell([]);
    this.#toldMs = nowMs;
    this.#endForgotten(nowMs);
    await this.#tell([...this.#live.values()].filter(({ hasNews }) => hasNews));
  }

  update(settings: ReportSettings): void {
    this.#settings = settings;
  }

  /** `track` forgets them all: none of them comes again. */
  flush(): void {
    for (const track of [...this.#live.values()]) this.#end(track);
  }

  async end(): Promise<void> {
    this.flush();
    await this.#tell([]);
  }

  /** A graph that fails has no end of its stream: what was seen until then is told all the same. */
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
      const sitter = this.#find(track);
      sitter.see(track, { timeMs, confidence: track.confidence, box, spot }, this.#settings);
      seen.push({ sitter, track });
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

  /** In as many messages as it takes, each of bounded size. */
  async #tell(changed: readonly LiveTrack[]): Promise<void> {
    const waiting = [...this.#ended, ...changed];
    this.#ended = [];
    let tracks: ReportedTrack[] = [];
    let room = MOST_REPORTED_POINTS;
    let patches = 0;
    const flush = async (): Promise<void> => {
      const report = { tracks };
      [tracks, room, patches] = [[], MOST_REPORTED_POINTS, 0];
      if (report.tracks.length > 0) await this.#send(report);
    };
    for (const track of waiting)
      while (track.hasNews) {
        if (patches + track.patchLength > MAX_PATCHES_LENGTH) await flush();
        patches += track.patchLength;
        const told = track.tell(room);
        tracks.push(told);
        room -= told.points.length;
        if (room <= 0 || tracks.length >= MOST_REPORTED_TRACKS) await flush();
      }
    await flush();
  }
}

/** To a hundredth, as in the detection message. */
const toPixels = (box: Box, { width, height }: Frame["inputSize"]): TrackPoint["box"] =>
  box.map((value, axis) => Math.round(value * (axis % 2 === 0 ? width : height) * 100) / 100 + 0) as Box;
