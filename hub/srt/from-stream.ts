/**
 * One SRT player: reads a stream and sends it as MPEG-TS. It gets the pictures since the last keyframe at once, then live ones.
 * What the connection does not take is queued up to a limit; beyond that, pictures are dropped up to the next keyframe.
 */
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { TsMuxer } from "../../media/mpegts/muxer.ts";
import type { SrtConnection } from "../../media/srt/socket.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import { type Reader, squeeze } from "../live-stream.ts";

type PlayerLimits = Pick<HubSettings["limits"], "readerBytes" | "stalledMs">;

/** The largest reorder depth of H.264; cached pictures are a millisecond apart. */
const MAX_DEPTH_US = 16_000;
const SQUEEZED_STEP_US = 1_000;

export class SrtPlayer implements Reader {
  missed = 0;
  readonly #connection: SrtConnection;
  readonly #limits: PlayerLimits;
  readonly #onEnd: (reason: string) => void;
  #muxer: TsMuxer | null = null;
  #joining: AccessUnit[] | null = [];
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #needsKey = false;
  #sentAtMs = performance.now();

  /** `onEnd`: the publication has ended, or the player does not read. */
  constructor(connection: SrtConnection, limits: PlayerLimits, onEnd: (reason: string) => void) {
    this.#connection = connection;
    this.#limits = limits;
    this.#onEnd = onEnd;
  }

  setTracks(tracks: Tracks): void {
    if (this.#muxer === null) this.#muxer = new TsMuxer(tracks);
    else this.#muxer.setTracks(tracks);
  }

  push(unit: AccessUnit, isCached: boolean): void {
    if (isCached) {
      this.#joining?.push(unit);
      return;
    }
    this.#sendCached();
    const isVideo = unit.kind === "video";
    if (this.#needsKey && !(isVideo && unit.isKey)) {
      if (isVideo) this.missed++;
      return;
    }
    if (this.#queuedBytes > this.#limits.readerBytes) {
      // Audio in between may be dropped as well; decoding starts again at the next keyframe.
      this.#needsKey = true;
      if (isVideo) this.missed++;
      return;
    }
    this.#needsKey = false;
    this.#write(unit, unit);
  }

  end(reason: string): void {
    this.#onEnd(reason);
  }

  /** Sends what is queued while there is room. */
  flush(): void {
    while (this.#queue.length > 0) {
      const first = this.#queue[0] as Buffer;
      const sent = this.#connection.send(first);
      if (sent <= 0) return;
      this.#sentAtMs = performance.now();
      this.#queuedBytes -= sent;
      if (sent < first.length) this.#queue[0] = first.subarray(sent);
      else this.#queue.shift();
    }
  }

  tick(nowMs: number): void {
    this.#sendCached();
    this.flush();
    if (this.#queue.length === 0) this.#sentAtMs = nowMs;
    else if (nowMs - this.#sentAtMs > this.#limits.stalledMs)
      this.#onEnd(`the player accepted no data for ${this.#limits.stalledMs / 1000} s`);
  }

  /** With times that end just before the live pictures, so that the player does not stay behind. */
  #sendCached(): void {
    const joining = this.#joining;
    if (joining === null) return;
    this.#joining = null;
    const pictures = squeeze(joining);
    const liveUs = pictures.at(-1)?.unit.dtsUs ?? 0;
    pictures.forEach(({ unit, timeUs }, index) => {
      const dtsUs = liveUs - (pictures.length - index) * SQUEEZED_STEP_US - MAX_DEPTH_US;
      this.#write(unit, { dtsUs, ptsUs: Math.max(timeUs, dtsUs) });
    });
  }

  #write(unit: AccessUnit, times: Pick<AccessUnit, "ptsUs" | "dtsUs">): void {
    const bytes = this.#muxer?.write(unit, times);
    if (bytes === undefined || bytes.length === 0) return;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.flush();
  }
}
