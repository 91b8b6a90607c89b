/** Recorded video and stored detections of one source, fetched in windows of some seconds. */
import { ApiError, type DetectionMessage } from "../../../client/client.ts";
import { request, windhover } from "../../session.ts";
import { isIn, type Span } from "./axis.ts";
import { readMoment, writeMoment } from "./clock.ts";
import { StoredBoxes } from "./stored-boxes.ts";

/** Long enough that the next one is there in time, short enough that playback begins at once. */
const WINDOW_MS = 20_000;
/** The one that is played, the next one, and those before. */
const MAX_WINDOWS = 4;

/** A clip in memory. */
export interface FootageWindow extends Span {
  readonly url: string;
  /** Time of its first frame, which is its time 0. */
  readonly zeroMs: number;
}

export interface FootageOptions {
  readonly sourceUuid: string;
  readonly ofFile: boolean;
}

export class Footage {
  readonly boxes = new StoredBoxes();
  readonly #options: FootageOptions;
  readonly #windows = new Map<string, Promise<FootageWindow>>();
  readonly #known: FootageWindow[] = [];
  readonly #asked = new Set<string>();
  readonly #starts = new Map<string, Promise<number>>();
  readonly #closing = new AbortController();

  constructor(options: FootageOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The window with this time, within a recorded range. Rejects with an error whose message is shown to the user. */
  async load(ms: number, range: Span): Promise<FootageWindow> {
    const known = this.#known.find((window) => isIn(window, ms));
    if (known !== undefined) return known;
    const toMs = Math.min(ms + WINDOW_MS, range.toMs);
    const key = this.#query({ fromMs: ms, toMs });
    const loading = this.#windows.get(key) ?? this.#fetch(key, { fromMs: ms, toMs });
    this.#windows.set(key, loading);
    try {
      return await loading;
    } finally {
      this.#windows.delete(key);
    }
  }

  /** Fetches the stored detections of this time, once. Without any, or while the service has none, there are no boxes. */
  async loadBoxes(processUuid: string | null, { fromMs, toMs }: Span): Promise<void> {
    if (processUuid === null) return;
    // Boxes between two messages need the one before, and the one after.
    const path = `/process/${processUuid}/detections?${this.#query({ fromMs: Math.max(0, fromMs - 1_000), toMs: toMs + 1_000 })}`;
    if (this.#asked.has(path)) return;
    this.#asked.add(path);
    try {
      const zeroMs = await this.#startOf(processUuid);
      const response = await request(path, this.#closing.signal);
      // Some seconds are small. Read as a stream, Chromium would report an answer that must not be cached as aborted.
      const lines = (await response.text()).split("\n").filter((line) => line !== "");
      this.boxes.add(
        lines.map((line) => JSON.parse(line) as DetectionMessage),
        zeroMs,
      );
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.#asked.delete(path);
    }
  }

  /** A picture of this time; null: there is none. The caller revokes the address. */
  async fetchThumbnail(ms: number, signal: AbortSignal): Promise<string | null> {
    const { sourceUuid, ofFile } = this.#options;
    const path = `/source/${sourceUuid}/thumbnail?at=${encodeURIComponent(writeMoment(ms, ofFile))}`;
    const response = await request(path, signal).catch(() => null);
    return response === null ? null : URL.createObjectURL(await response.blob());
  }

  close(): void {
    this.#closing.abort();
    for (const { url } of this.#known.splice(0)) URL.revokeObjectURL(url);
  }

  async #fetch(query: string, asked: Span): Promise<FootageWindow> {
    const response = await request(`/source/${this.#options.sourceUuid}/clip?${query}`, this.#closing.signal);
    const [from, to] = (response.headers.get("Windhover-Clip") ?? "").split("/").map(readMoment);
    const blob = await response.blob();
    if (this.isClosed) throw new DOMException("closed", "AbortError");
    const zeroMs = from !== undefined && Number.isFinite(from) ? from : asked.fromMs;
    const endMs = to !== undefined && Number.isFinite(to) ? Math.min(to, asked.toMs) : asked.toMs;
    // The first frame may begin later than asked for: what is before it belongs to this window, too.
    const fromMs = Math.min(zeroMs, asked.fromMs);
    const window = { url: URL.createObjectURL(blob), zeroMs, fromMs, toMs: Math.max(endMs, fromMs + 1) };
    this.#known.push(window);
    for (const old of this.#known.splice(0, this.#known.length - MAX_WINDOWS)) URL.revokeObjectURL(old.url);
    return window;
  }

  /** Times of detections in a file are those of its process. */
  #startOf(processUuid: string): Promise<number> {
    if (!this.#options.ofFile) return Promise.resolve(0);
    const start =
      this.#starts.get(processUuid) ??
      windhover
        .readProcess({ process_uuid: processUuid }, { signal: this.#closing.signal })
        .then(({ started_at }) => Date.parse(started_at ?? ""));
    this.#starts.set(processUuid, start);
    return start;
  }

  #query({ fromMs, toMs }: Span): string {
    const { ofFile } = this.#options;
    return new URLSearchParams({ from: writeMoment(fromMs, ofFile), to: writeMoment(toMs, ofFile) }).toString();
  }
}
