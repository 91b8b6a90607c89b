/** Which streams are being recorded. One that cannot be recorded is played all the same. */
import type { HubSettings } from "../schemas/hub.ts";
import type { Log } from "./log.ts";
import { Recorder } from "./recorder/recorder.ts";
import { repairRecordings } from "./recorder/repair.ts";
import type { RecordingMessage } from "./recorder/writer.ts";
import type { Streams } from "./streams.ts";

export interface RecordingsParts {
  readonly settings: Pick<HubSettings, "recordingsFolder" | "segmentSeconds" | "reserveBytes" | "untold"> & {
    readonly limits: Pick<HubSettings["limits"], "readerBytes">;
  };
  readonly tell: (message: RecordingMessage) => void;
  readonly log: Log;
}

export class Recordings {
  readonly #parts: RecordingsParts;
  readonly #active = new Map<string, { readonly path: string; readonly recorder: Recorder }>();
  #isAllowed = true;

  constructor(parts: RecordingsParts) {
    this.#parts = parts;
  }

  /** The stream is live: with everything since its first key picture. */
  begin(streams: Pick<Streams, "read">, path: string, recording: string): void {
    try {
      if (!this.#isAllowed) throw new Error(NOT_ALLOWED);
      if (this.#active.has(recording)) throw new Error("a recording of that name is being made already");
      this.#record(streams, path, recording);
    } catch (error) {
      this.#refuse(path, recording, error instanceof Error ? error.message : String(error));
    }
  }

  /** The stream has been live for a while: from its last key picture on. */
  beginLate(streams: Pick<Streams, "read">, path: string, recording: string): void {
    const isRecorded = [...this.#active.values()].some((active) => active.path === path);
    if (isRecorded) this.#refuse(path, recording, "it is being recorded already");
    else this.begin(streams, path, recording);
  }

  /** Not: those that are being made stop, and no other begins. Again: when the server names one. */
  allow(isAllowed: boolean): void {
    this.#isAllowed = isAllowed;
    if (!isAllowed) for (const { recorder } of this.#active.values()) recorder.stop(NOT_ALLOWED);
  }

  /** What a hub that was killed has left. Never rejects. */
  repair(): Promise<void> {
    const { tell, log, settings } = this.#parts;
    const isActive = (recording: string): boolean => this.#active.has(recording);
    const untold = new Set(settings.untold);
    const isUntold = (recording: string): boolean => untold.has(recording);
    return repairRecordings({ folder: settings.recordingsFolder, isActive, isUntold, tell, log });
  }

  /** Resolves when everything is on the disk and told. */
  async close(): Promise<void> {
    const recorders = [...this.#active.values()].map(({ recorder }) => recorder);
    for (const recorder of recorders) recorder.stop(null);
    await Promise.all(recorders.map(({ done }) => done));
  }

  #refuse(path: string, recording: string, detail: string): void {
    const { tell, log } = this.#parts;
    log("warn", "a stream is not recorded", { path, recording, detail });
    // Under the name of one that is being made it would end that one for the server.
    if (!this.#active.has(recording)) tell({ type: "recorded", recording, stoppedAtMs: Date.now(), detail });
  }

  #record(streams: Pick<Streams, "read">, path: string, recording: string): void {
    const { tell, log, settings } = this.#parts;
    const { recordingsFolder: folder, segmentSeconds, reserveBytes, limits } = settings;
    const { readerBytes } = limits;
    const recorder = new Recorder({ recording, path, folder, segmentSeconds, reserveBytes, readerBytes, tell, log });
    const leave = streams.read(path, recorder);
    this.#active.set(recording, { path, recorder });
    void recorder.done.then(() => {
      this.#active.delete(recording);
      leave();
    });
  }
}

const NOT_ALLOWED = "recording was stopped: the disk is nearly full";
