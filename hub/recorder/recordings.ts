/** The recordings in progress. A stream that cannot be recorded stays playable. */
import type { HubSettings } from "../../schemas/hub.ts";
import type { Log } from "../log.ts";
import type { Streams } from "../streams.ts";
import { Recorder } from "./recorder.ts";
import { repairRecordings } from "./repair.ts";
import type { RecordingMessage } from "./writer.ts";

export interface RecordingsDeps {
  readonly settings: Pick<HubSettings, "recordingsFolder" | "segmentSeconds" | "reserveBytes" | "untold"> & {
    readonly limits: Pick<HubSettings["limits"], "readerBytes">;
  };
  readonly notify: (message: RecordingMessage) => void;
  readonly log: Log;
}

const NOT_ALLOWED = "recording stopped: the disk is nearly full";

export class Recordings {
  readonly #deps: RecordingsDeps;
  readonly #active = new Map<string, { readonly path: string; readonly recorder: Recorder }>();
  #isAllowed = true;

  constructor(deps: RecordingsDeps) {
    this.#deps = deps;
  }

  /** Records a stream that has just started, from its first keyframe. */
  start(streams: Pick<Streams, "read" | "isOwn">, path: string, recording: string, segmentSeconds?: number): void {
    try {
      if (!this.#isAllowed) throw new Error(NOT_ALLOWED);
      if (this.#active.has(recording)) throw new Error("a recording with this name is in progress");
      this.#record(streams, path, recording, segmentSeconds ?? this.#deps.settings.segmentSeconds);
    } catch (error) {
      this.#reject(path, recording, error instanceof Error ? error.message : String(error));
    }
  }

  /** Records a stream that is already live, from its last keyframe. */
  startLate(
    streams: Pick<Streams, "read" | "isOwn">,
    { path, recording, segmentSeconds }: { path: string; recording: string; segmentSeconds?: number },
  ): void {
    const isRecorded = [...this.#active.values()].some((active) => active.path === path);
    if (isRecorded) this.#reject(path, recording, "the stream is already being recorded");
    else this.start(streams, path, recording, segmentSeconds);
  }

  /** The length of further files; null: as in the settings. */
  setSegments(recording: string, segmentSeconds: number | null): void {
    const active = this.#active.get(recording);
    if (active !== undefined) active.recorder.segmentSeconds = segmentSeconds ?? this.#deps.settings.segmentSeconds;
  }

  end(recording: string): void {
    this.#active.get(recording)?.recorder.stop(null);
  }

  /** False stops all recordings and allows no new ones. */
  allow(isAllowed: boolean): void {
    this.#isAllowed = isAllowed;
    if (!isAllowed) for (const { recorder } of this.#active.values()) recorder.stop(NOT_ALLOWED);
  }

  /** Repairs the files of a killed hub. Never rejects. */
  repair(): Promise<void> {
    const { notify, log, settings } = this.#deps;
    const isActive = (recording: string): boolean => this.#active.has(recording);
    const unreported = new Set(settings.untold);
    const isUnreported = (recording: string): boolean => unreported.has(recording);
    return repairRecordings({ folder: settings.recordingsFolder, isActive, isUnreported, notify, log });
  }

  /** Resolves when everything is written and reported. */
  async close(): Promise<void> {
    const recorders = [...this.#active.values()].map(({ recorder }) => recorder);
    for (const recorder of recorders) recorder.stop(null);
    await Promise.all(recorders.map(({ done }) => done));
  }

  #reject(path: string, recording: string, detail: string): void {
    const { notify, log } = this.#deps;
    log("warn", "recording rejected", { path, recording, detail });
    // The name of a recording in progress would end that one for the server.
    if (!this.#active.has(recording)) notify({ type: "recorded", recording, stoppedAtMs: Date.now(), detail });
  }

  #record(streams: Pick<Streams, "read" | "isOwn">, path: string, recording: string, segmentSeconds: number): void {
    const { notify, log, settings } = this.#deps;
    const { recordingsFolder: folder, reserveBytes, limits } = settings;
    const { readerBytes } = limits;
    const recorder = new Recorder({
      ...{ recording, path, folder, segmentSeconds, reserveBytes, readerBytes, notify, log },
      followsClock: streams.isOwn(path),
    });
    const leave = streams.read(path, recorder);
    this.#active.set(recording, { path, recorder });
    void recorder.done.then(() => {
      this.#active.delete(recording);
      leave();
    });
  }
}
