import { readRtmpAddress } from "../../media/rtmp/address.ts";
import { publishRtmp } from "../../media/rtmp/publisher.ts";
import { readRtspAddress } from "../../media/rtsp/address.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import type { Tracks, Unit } from "../../media/unit.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { UnitMaker } from "./access-units.ts";

interface PublishProperties {
  readonly url: string;
  readonly address: string | null;
}

const REPORT_EVERY_MS = 1000;
/** Servers say what they want, at any length. */
const MAX_LETTERS = 300;

export class PublishHandler implements Pick<Handler, "process" | "flush" | "close"> {
  readonly #services: Services;
  readonly #outlet: Outlet;
  readonly #units = new UnitMaker();
  /** Came while a key picture was waited for. */
  #framesLeftOut = 0;
  #reportedAtMs = 0;

  /** Throws for a URL that is none. */
  constructor(properties: PublishProperties, services: Services) {
    this.#services = services;
    this.#outlet = new Outlet(openerOf(properties), () => this.#tellStatus());
    this.#report();
  }

  /** Never waits. */
  process(frame: Frame): void {
    const made = this.#units.make(frame.copy(), frame.ptsNs, frame.captureNs);
    if (made === null) this.#framesLeftOut++;
    else this.#outlet.send(made.unit, made.tracks);
    if (performance.now() - this.#reportedAtMs >= REPORT_EVERY_MS) this.#report();
  }

  flush(): void {
    this.#units.expectKey();
  }

  async close(): Promise<void> {
    await this.#outlet.close();
    this.#report();
  }

  #tellStatus(): void {
    const detail = this.#detail;
    if (detail !== null) this.#services.log.warn(`nothing can be published now: ${detail}`);
    else if (this.#outlet.status === "live") this.#services.log.info("what comes is published");
    this.#report();
  }

  get #detail(): string | null {
    const { detail } = this.#outlet;
    return detail === null ? null : maskCredentials(detail).slice(0, MAX_LETTERS);
  }

  #report(): void {
    this.#reportedAtMs = performance.now();
    const { status, framesSent } = this.#outlet;
    const framesDropped = this.#outlet.framesDropped + this.#framesLeftOut;
    this.#services.emit({ type: "output", status, detail: this.#detail, framesSent, framesDropped });
  }
}

function openerOf({ url, address }: PublishProperties): OpenPublisher {
  const isRtsp = url.startsWith("rtsp:");
  if (isRtsp) readRtspAddress(url);
  else readRtmpAddress(url);
  const publish = isRtsp ? publishRtsp : publishRtmp;
  return (tracks, signal) => publish(url, tracks, { signal, ...(address !== null && { host: address }) });
}

/** A server that units are sent to: connected to as soon as there is something to send, and again whenever it was lost. */
/** One connection. */
export interface Publisher {
  /** False: it was not taken. */
  send(unit: Unit): boolean;
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** Rejects with the reason. When the signal is aborted it ends whatever it is about, the connection too. */
export type OpenPublisher = (tracks: Tracks, signal: AbortSignal) => Promise<Publisher>;

export type OutletStatus = "starting" | "live" | "retrying";

const LIMITS = {
  /** Before the first attempt after a loss; twice as long each time. */
  firstWaitMs: 500,
  mostWaitMs: 10_000,
  /** A connection that held so long is no reason to wait longer the next time. */
  steadyMs: 10_000,
  /** To say good-bye. */
  closeMs: 1_000,
  /** Of pictures since the last key one, kept for a server that is being connected to. */
  keptBytes: 4 * 2 ** 20,
};

export class Outlet {
  readonly #open: OpenPublisher;
  readonly #onStatus: () => void;
  readonly #limits: typeof LIMITS;
  readonly #cut = new AbortController();
  #status: OutletStatus = "starting";
  #detail: string | null = null;
  #framesSent = 0;
  #framesDropped = 0;
  #tracks: Tracks | null = null;
  #publisher: Publisher | null = null;
  /** Begins with a key picture, or is empty. */
  #kept: Unit[] = [];
  #keptBytes = 0;
  #waitMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** A connection that comes or goes: there is no other meanwhile. */
  #turning: Promise<void> | null = null;
  #isClosed = false;

  /** `onStatus` whenever the status or its detail has changed. */
  constructor(open: OpenPublisher, onStatus: () => void, limits: Partial<typeof LIMITS> = {}) {
    this.#open = open;
    this.#onStatus = onStatus;
    this.#limits = { ...LIMITS, ...limits };
    this.#waitMs = this.#limits.firstWaitMs;
  }

  get status(): OutletStatus {
    return this.#status;
  }

  /** Why it is not live. */
  get detail(): string | null {
    return this.#detail;
  }

  get framesSent(): number {
    return this.#framesSent;
  }

  get framesDropped(): number {
    return this.#framesDropped;
  }

  /** Never waits. Other tracks than before come with a key picture. */
  send(unit: Unit, tracks: Tracks): void {
    if (this.#isClosed) return;
    if (tracks !== this.#tracks) this.#change(tracks);
    if (this.#publisher !== null) {
      this.#pass(this.#publisher, unit);
      return;
    }
    this.#keep(unit);
    this.#connect();
  }

  /** Within its limit. What is on its way to the server still goes there. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#forget();
    const timer = setTimeout(() => this.#cut.abort(), this.#publisher === null ? 0 : this.#limits.closeMs);
    await this.#turning;
    await this.#publisher?.close().catch(() => {});
    clearTimeout(timer);
  }

  /** A session is for one kind of picture: another one needs another session, which the server allows when this is over. */
  #change(tracks: Tracks): void {
    const publisher = this.#publisher;
    this.#tracks = tracks;
    this.#publisher = null;
    if (publisher === null) return;
    this.#become("starting", null);
    this.#turn(publisher.close());
  }

  /** Where there is nothing to send, as while the graph is paused, there is no connection either. */
  #connect(): void {
    const tracks = this.#tracks;
    if (tracks === null || this.#kept.length === 0 || this.#isClosed) return;
    if (this.#turning !== null || this.#timer !== undefined) return;
    const opened = this.#open(tracks, this.#cut.signal);
    this.#turn(
      opened.then(
        (publisher) => this.#begin(publisher, tracks),
        (error: Error) => this.#retry(error.message),
      ),
    );
  }

  #turn(work: Promise<void>): void {
    this.#turning = work
      .catch(() => {})
      .then(() => {
        this.#turning = null;
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
    this.#become("live", null);
    for (const unit of this.#take()) this.#pass(publisher, unit);
    void publisher.closed.then((reason) => {
      if (this.#publisher !== publisher || this.#isClosed) return;
      this.#publisher = null;
      if (performance.now() - beganMs >= this.#limits.steadyMs) this.#waitMs = this.#limits.firstWaitMs;
      this.#retry(reason);
    });
  }

  #retry(reason: string): void {
    if (this.#isClosed) return;
    this.#become("retrying", reason);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#connect();
      },
      this.#waitMs * (0.75 + Math.random() / 2),
    );
    this.#waitMs = Math.min(this.#waitMs * 2, this.#limits.mostWaitMs);
  }

  #pass(publisher: Publisher, unit: Unit): void {
    if (publisher.send(unit)) this.#framesSent++;
    else this.#framesDropped++;
  }

  /** What a server that comes back is sent first. */
  #keep(unit: Unit): void {
    const bytes = unit.parts.reduce((sum, part) => sum + part.length, 0);
    if (unit.isKey || this.#keptBytes + bytes > this.#limits.keptBytes) this.#forget();
    if (!unit.isKey && this.#kept.length === 0) {
      this.#framesDropped++;
      return;
    }
    this.#kept.push(unit);
    this.#keptBytes += bytes;
  }

  #forget(): void {
    this.#framesDropped += this.#take().length;
  }

  #take(): readonly Unit[] {
    const kept = this.#kept;
    this.#kept = [];
    this.#keptBytes = 0;
    return kept;
  }

  #become(status: OutletStatus, detail: string | null): void {
    if (status === this.#status && detail === this.#detail) return;
    this.#status = status;
    this.#detail = detail;
    this.#onStatus();
  }
}
