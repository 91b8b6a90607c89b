/** Sends access units to a server: connects when there is video to send, reconnects with backoff. */
import { type AccessUnit, byteLength, type Tracks } from "../media/access-unit.ts";
import type { Publisher } from "../media/publisher.ts";
import { publishSrt } from "../media/srt/publisher.ts";
import { readSrtAddress } from "../schemas/srt-address.ts";

const SRT_LATENCY_MS = 200;

/** `address`: IP address to connect to instead of resolving the host of the URL. Throws a `TypeError` for an invalid URL. */
export function srtOpenerOf(url: string, address: string | null): OpenPublisher {
  const target = readSrtAddress(url);
  if (typeof target === "string") throw new TypeError(target);
  const { host, port, streamId, passphrase, latencyMs, keyBytes } = target;
  const more = { latencyMs: latencyMs ?? SRT_LATENCY_MS, keyBytes: keyBytes ?? undefined };
  return (tracks, signal) =>
    publishSrt({ host, port, streamId, passphrase, ...more }, tracks, {
      signal,
      ...(address !== null && { host: address }),
    });
}

/** Rejects with the reason. Aborting the signal cancels the attempt, or closes the connection. */
export type OpenPublisher = (tracks: Tracks, signal: AbortSignal) => Promise<Publisher>;

type OutletStatus = "starting" | "live" | "retrying";

const LIMITS = {
  /** Delay before the first attempt after a loss; doubles with each attempt. */
  firstWaitMs: 500,
  maxWaitMs: 10_000,
  /** A connection that lasted this long resets the delay. */
  steadyMs: 10_000,
  /** To disconnect gracefully. */
  closeMs: 1_000,
  /** Video since the last keyframe, buffered while connecting. */
  bufferBytes: 4 * 2 ** 20,
};

/** The connection to the server. Frames never wait for it. */
export class VideoOutlet {
  readonly #open: OpenPublisher;
  readonly #onStatus: () => void;
  readonly #limits: typeof LIMITS;
  readonly #abort = new AbortController();
  status: OutletStatus = "starting";
  /** Why the status is not live. */
  detail: string | null = null;
  framesSent = 0;
  framesDropped = 0;
  #tracks: Tracks | null = null;
  #publisher: Publisher | null = null;
  /** Starts with a keyframe, or is empty. */
  #buffer: AccessUnit[] = [];
  #bufferBytes = 0;
  #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** A connection that is being opened or closed: no other is opened meanwhile. */
  #transition: Promise<void> | null = null;
  #isClosed = false;

  /** Calls `onStatus` when the status or its detail has changed. */
  constructor(open: OpenPublisher, onStatus: () => void, limits: Partial<typeof LIMITS> = {}) {
    this.#open = open;
    this.#onStatus = onStatus;
    this.#limits = { ...LIMITS, ...limits };
    this.#waitMs = this.#limits.firstWaitMs;
  }

  /** Never blocks. `tracks` changes only with a keyframe. Sound is not counted as frames. */
  send(unit: AccessUnit, tracks: Tracks): void {
    if (this.#isClosed) return;
    if (tracks !== this.#tracks) this.#changeTracks(tracks);
    if (this.#publisher !== null) {
      this.#pass(this.#publisher, unit);
      return;
    }
    this.#keep(unit);
    this.#connect();
  }

  /** Within `closeMs`. Data already handed to the connection is still sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#dropBuffer();
    const timer = setTimeout(() => this.#abort.abort(), this.#publisher === null ? 0 : this.#limits.closeMs);
    await this.#transition;
    await this.#publisher?.close().catch(() => {});
    clearTimeout(timer);
  }

  /** Codec parameters are fixed per session: a change needs a new session, after the old one is closed. */
  #changeTracks(tracks: Tracks): void {
    const publisher = this.#publisher;
    this.#tracks = tracks;
    this.#publisher = null;
    if (publisher === null) return;
    this.#setStatus("starting", null);
    this.#runTransition(publisher.close());
  }

  /** Connects only if there is video to send: not while the graph is paused. */
  #connect(): void {
    const tracks = this.#tracks;
    if (tracks === null || this.#buffer.length === 0 || this.#isClosed) return;
    if (this.#transition !== null || this.#timer !== undefined) return;
    const opened = this.#open(tracks, this.#abort.signal);
    this.#runTransition(
      opened.then(
        (publisher) => this.#begin(publisher, tracks),
        (error: Error) => this.#retry(error.message),
      ),
    );
  }

  #runTransition(work: Promise<void>): void {
    this.#transition = work
      .catch(() => {})
      .then(() => {
        this.#transition = null;
        this.#connect();
      });
  }

  async #begin(publisher: Publisher, tracks: Tracks): Promise<void> {
    if (this.#isClosed || tracks !== this.#tracks) {
      await publisher.close();
      return;
    }
    const beganMs = performance.now();
    this.#publisher = publisher;
    this.#setStatus("live", null);
    for (const unit of this.#takeBuffer()) this.#pass(publisher, unit);
    void publisher.closed.then((reason) => {
      if (this.#publisher !== publisher || this.#isClosed) return;
      this.#publisher = null;
      if (performance.now() - beganMs >= this.#limits.steadyMs) this.#waitMs = this.#limits.firstWaitMs;
      this.#retry(reason);
    });
  }

  #retry(reason: string): void {
    if (this.#isClosed) return;
    this.#setStatus("retrying", reason);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#connect();
      },
      this.#waitMs * (0.75 + Math.random() / 2),
    );
    this.#waitMs = Math.min(this.#waitMs * 2, this.#limits.maxWaitMs);
  }

  #pass(publisher: Publisher, unit: AccessUnit): void {
    const isSent = publisher.send(unit);
    if (unit.kind === "audio") return;
    if (isSent) this.framesSent++;
    else this.framesDropped++;
  }

  #keep(unit: AccessUnit): void {
    const bytes = byteLength(unit);
    const isVideo = unit.kind === "video";
    const isKey = isVideo && unit.isKey;
    if (isKey || this.#bufferBytes + bytes > this.#limits.bufferBytes) this.#dropBuffer();
    if (!isKey && this.#buffer.length === 0) {
      if (isVideo) this.framesDropped++;
      return;
    }
    this.#buffer.push(unit);
    this.#bufferBytes += bytes;
  }

  #dropBuffer(): void {
    this.framesDropped += this.#takeBuffer().filter(({ kind }) => kind === "video").length;
  }

  #takeBuffer(): readonly AccessUnit[] {
    const units = this.#buffer;
    this.#buffer = [];
    this.#bufferBytes = 0;
    return units;
  }

  #setStatus(status: OutletStatus, detail: string | null): void {
    if (status === this.status && detail === this.detail) return;
    this.status = status;
    this.detail = detail;
    this.#onStatus();
  }
}
