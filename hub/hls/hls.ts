/**
 * Low-latency HLS in memory, generated on demand: the first playlist request adds a reader to the stream, which is removed
 * after a while without requests.
 */
import type { HubSettings } from "../../schemas/hub.ts";
import { type HttpAnswer, StreamRejected, textAnswer } from "../errors.ts";
import { every } from "../every.ts";
import type { Log } from "../log.ts";
import { type Streams, shareOf } from "../streams.ts";
import { MEDIA_PLAYLIST, MULTIVARIANT_PLAYLIST, writeMedia, writeMultivariant } from "./playlist.ts";
import { Segmenter } from "./segmenter.ts";
import { Window } from "./window.ts";

export interface HlsDeps {
  readonly settings: {
    readonly limits: Pick<HubSettings["limits"], "hlsIdleMs" | "hlsBytes" | "keyBytes" | "readersPerStream">;
  };
  readonly streams: Pick<Streams, "read">;
  readonly log: Log;
}

/** Segments are numbered by seconds since then. None lasts less than one, so numbers never repeat after a restart. */
const EPOCH_MS = Date.UTC(2025, 0, 1);
const PLAYLISTS: readonly string[] = [MULTIVARIANT_PLAYLIST, MEDIA_PLAYLIST];

export class Hls {
  readonly #deps: HlsDeps;
  readonly #streams = new Map<string, HlsStream>();
  readonly #endSweeps: () => void;

  constructor(deps: HlsDeps) {
    this.#deps = deps;
    const { hlsIdleMs } = deps.settings.limits;
    this.#endSweeps = every(Math.min(Math.max(hlsIdleMs / 4, 10), 1000), () => this.#stopIdle());
  }

  /** Rejects with `StreamRejected` if the stream is not live or cannot be read. */
  async answer(path: string, file: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#find(path, file).answer(file, query, signal);
  }

  close(): void {
    this.#endSweeps();
    for (const path of [...this.#streams.keys()]) this.#stop(path);
  }

  #find(path: string, file: string): HlsStream {
    const known = this.#streams.get(path);
    if (known !== undefined && !known.window.isEnded) return known;
    if (!PLAYLISTS.includes(file)) {
      if (known === undefined) throw new StreamRejected("not_live", `no HLS of ${path}: request its playlist first`);
      return known;
    }
    try {
      return this.#start(path, known?.window.growingNumber ?? 0);
    } catch (error) {
      // Viewers who were watching when the stream ended see its end; new viewers do not.
      if (known !== undefined && file === MEDIA_PLAYLIST) return known;
      throw error;
    }
  }

  #start(path: string, minNumber: number): HlsStream {
    const { settings, streams, log } = this.#deps;
    const firstNumber = Math.max(minNumber, Math.floor((Date.now() - EPOCH_MS) / 1000));
    const { readersPerStream, hlsBytes, keyBytes } = settings.limits;
    const maxBytes = (): number => shareOf(path, this.#streams.keys(), hlsBytes, keyBytes);
    const stream = new HlsStream(readersPerStream, new Window(firstNumber, maxBytes));
    stream.leave = streams.read(path, stream.segmenter);
    this.#streams.set(path, stream);
    log("debug", "hls started", { path });
    return stream;
  }

  #stopIdle(): void {
    for (const [path, stream] of [...this.#streams]) {
      if (stream.idleMs < this.#deps.settings.limits.hlsIdleMs) continue;
      this.#stop(path);
      this.#deps.log("debug", "hls stopped", { path });
    }
  }

  #stop(path: string): void {
    this.#streams.get(path)?.close();
    this.#streams.delete(path);
  }
}

/** The segment, and optionally part, that a blocking reload waits for. */
interface Wanted {
  readonly segment: number;
  readonly part: number | null;
}

const FILE = /^([0-9a-z]+)_(init|part|seg)(\d{1,15})\.mp4$/;
const NUMBER = /^\d{1,15}$/;
/** A viewer requests the next playlist and the next part at once. */
const REQUESTS_PER_VIEWER = 4;
/** draft 6.2.5.2: requests further ahead are an error. */
const MAX_AHEAD = 2;
/** Until the first playlist; a segment does not take longer. */
const FIRST_PLAYLIST_MS = 20_000;
/** draft 6.2.5.2 and appendix B.1: how long a reload blocks, and how long immutable answers are cached, in targets. */
const WAIT_TARGETS = 3;
const CACHE_TARGETS = 6;
const MAX_TOKEN_CHARS = 1024;

/** HLS of one publication: answers requests for its playlists and files. */
class HlsStream {
  readonly segmenter: Segmenter;
  /** Removes the reader from the stream. */
  leave: () => void = () => {};
  readonly window: Window;
  readonly #blocked: BlockedRequests;
  #requestedAtMs = performance.now();

  constructor(readersPerStream: number, window: Window) {
    this.window = window;
    this.#blocked = new BlockedRequests(readersPerStream * REQUESTS_PER_VIEWER);
    this.segmenter = new Segmenter(window, () => this.#blocked.check());
  }

  /** Time since the last request; 0 while one is blocked. */
  get idleMs(): number {
    return this.#blocked.size === 0 ? performance.now() - this.#requestedAtMs : 0;
  }

  async answer(file: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer> {
    this.#requestedAtMs = performance.now();
    const token = query.get("token");
    if (token !== null && token.length > MAX_TOKEN_CHARS)
      return textAnswer(400, `the token has more than ${MAX_TOKEN_CHARS} characters`);
    const onward = token === null ? "" : `?token=${encodeURIComponent(token)}`;
    if (file === MEDIA_PLAYLIST) return this.#answerMedia(onward, query, signal);
    if (file !== MULTIVARIANT_PLAYLIST) return this.#answerFile(file, signal);
    const { init } = this.window;
    if (init === null) return textAnswer(503, "the stream has not started yet");
    return playlist(writeMultivariant(this.window, init, onward), "no-cache");
  }

  close(): void {
    this.leave();
    this.window.end();
    this.#blocked.release();
  }

  async #answerMedia(onward: string, query: URLSearchParams, signal: AbortSignal): Promise<HttpAnswer> {
    const window = this.window;
    const wanted = readWanted(query);
    if (wanted === "invalid")
      return textAnswer(400, "_HLS_msn and _HLS_part must be numbers, and _HLS_part requires _HLS_msn");
    if (wanted !== null && wanted.segment > window.growingNumber + MAX_AHEAD)
      return textAnswer(400, `_HLS_msn is too far ahead: the current segment is ${window.growingNumber}`);
    if (this.#blocked.isFull) return textAnswer(503, "too many blocked requests for this stream");
    window.isWanted = true;
    const isReady = () => window.isEnded || (window.isReady && (wanted === null || this.#has(wanted)));
    const limitMs = window.isReady ? WAIT_TARGETS * window.targets.segmentSeconds * 1000 : FIRST_PLAYLIST_MS;
    await this.#blocked.wait(isReady, limitMs, signal);
    if (!window.isReady) return textAnswer(503, "the stream has no segment yet");
    if (!isReady()) return textAnswer(503, "the requested segment was not ready in time");
    const { segmentSeconds } = window.targets;
    if (window.isEnded) return playlist(writeMedia(window, onward), "no-cache");
    // draft, appendix B.1: no viewer who is further along requests a reload with these numbers again.
    const cacheSeconds = wanted === null ? segmentSeconds / 2 : CACHE_TARGETS * segmentSeconds;
    return playlist(writeMedia(window, onward), cacheFor(cacheSeconds));
  }

  async #answerFile(file: string, signal: AbortSignal): Promise<HttpAnswer> {
    const window = this.window;
    const [, name, kind, digits] = FILE.exec(file) ?? [];
    const number = Number(digits);
    if (name !== window.name) return notFound();
    if (kind === "init") return this.#media(window.findInit(number)?.data);
    if (kind === "seg") {
      const parts = window.findSegment(number)?.parts;
      return this.#media(parts && Buffer.concat(parts.map(({ data }) => data)));
    }
    // The playlist hints at the next part: a request for it blocks until the part exists.
    if (number === window.nextPart && !window.isEnded) {
      const isReady = () => window.nextPart > number || window.isEnded;
      await this.#blocked.wait(isReady, WAIT_TARGETS * window.maxSegmentUs * 1e-3, signal);
    }
    return this.#media(window.findPart(number)?.data);
  }

  #media(body: Buffer | undefined): HttpAnswer {
    if (body === undefined) return notFound();
    const cacheSeconds = (CACHE_TARGETS * this.window.maxSegmentUs) / 1e6;
    return { status: 200, headers: { "content-type": "video/mp4", "cache-control": cacheFor(cacheSeconds) }, body };
  }

  /** draft 6.2.5.2: a part beyond the last one of its segment is the first one of the next. */
  #has({ segment, part }: Wanted): boolean {
    const { growing, growingNumber } = this.window;
    if (segment > growingNumber) return false;
    const count = growing?.parts.length ?? 0;
    if (segment === growingNumber) return part !== null && count > part;
    if (part === null || segment + 1 < growingNumber) return true;
    const { length } = this.window.findSegment(segment)?.parts ?? [];
    return length === undefined || part < length || count > 0;
  }
}

function readWanted(query: URLSearchParams): Wanted | null | "invalid" {
  const [segment, part] = [query.get("_HLS_msn"), query.get("_HLS_part")];
  if (segment === null) return part === null ? null : "invalid";
  if (!NUMBER.test(segment) || (part !== null && !NUMBER.test(part))) return "invalid";
  return { segment: Number(segment), part: part === null ? null : Number(part) };
}

/** Only the viewer's own cache may keep it: other viewers are not authorized. */
const cacheFor = (seconds: number): string => `private, max-age=${Math.max(Math.floor(seconds), 1)}`;

const playlist = (body: string, cacheControl: string): HttpAnswer => ({
  status: 200,
  headers: { "content-type": "application/vnd.apple.mpegurl", "cache-control": cacheControl },
  body,
});

const notFound = (): HttpAnswer => textAnswer(404, "no such file, or it has expired");

interface Waiter {
  readonly isReady: () => boolean;
  readonly resume: () => void;
}

/** Requests that wait for the window to grow, limited in number and time. */
class BlockedRequests {
  readonly #max: number;
  readonly #waiters = new Set<Waiter>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#waiters.size;
  }

  get isFull(): boolean {
    return this.#waiters.size >= this.#max;
  }

  /** Resolves when it is ready, after `limitMs`, or on abort. */
  wait(isReady: () => boolean, limitMs: number, signal: AbortSignal): Promise<void> {
    if (isReady() || signal.aborted || this.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      const resume = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", resume);
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { isReady, resume };
      const timer = setTimeout(resume, limitMs);
      signal.addEventListener("abort", resume);
      this.#waiters.add(waiter);
    });
  }

  /** Resumes the requests that are ready. */
  check(): void {
    for (const { isReady, resume } of [...this.#waiters]) if (isReady()) resume();
  }

  release(): void {
    for (const { resume } of [...this.#waiters]) resume();
  }
}
