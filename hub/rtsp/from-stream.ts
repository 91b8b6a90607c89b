/**
 * One RTSP player: reads a stream and sends it as RTP. It gets the pictures since the last keyframe at once, then live ones.
 * Units that it cannot take in time are queued up to a limit; beyond that, pictures are dropped up to the next keyframe.
 */
import { type AccessUnit, type AudioTrack, byteLength, type Tracks } from "../../media/access-unit.ts";
import { payloadKlv } from "../../media/rtp/klv.ts";
import { PAYLOAD_BYTES } from "../../media/rtp/packet.ts";
import { layOut, type PacketSet, packetsOf, RtpSender } from "../../media/rtp/sender.ts";
import { AUDIO_TYPE, KLV_CLOCK, KLV_TYPE, VIDEO_CLOCK, VIDEO_TYPE } from "../../media/rtsp/sdp.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import { StatusError } from "../errors.ts";
import { type Reader, squeeze, type TimedUnit } from "../live-stream.ts";
import {
  type Delivery,
  defaultChannels,
  describeTcp,
  describeUdp,
  expectTransport,
  TcpDelivery,
  UdpDelivery,
  UdpPair,
  type Wire,
} from "./transport.ts";

/** Tracks are numbered as in the SDP: video, then audio and metadata, if there are any. */
export const VIDEO = 0;

/** Payload type and clock rate of every track. */
function listFormats({ audio, klv }: Tracks): readonly (readonly [type: number, clockRate: number])[] {
  return [
    [VIDEO_TYPE, VIDEO_CLOCK],
    ...(audio === null ? [] : [[AUDIO_TYPE, audio.sampleRate] as const]),
    ...(klv === undefined ? [] : [[KLV_TYPE, KLV_CLOCK] as const]),
  ];
}

type PlayerLimits = Pick<HubSettings["limits"], "readerBytes" | "stalledMs">;

interface PlayerTrack {
  readonly sender: RtpSender;
  /** As in the request. */
  readonly url: string;
  /** Null: nothing is sent yet. */
  lastUs: number | null;
}

export interface SetUpRequest {
  readonly path: string;
  readonly tracks: Tracks;
  readonly track: number;
  readonly url: string;
  /** The `Transport` header. */
  readonly header: string;
  readonly limits: PlayerLimits;
  /** The hub of another node. */
  readonly isRelay: boolean;
}

/**
 * Interval of sender reports. Shorter at first, doubled with each report: GStreamer ignores those before the second packet of
 * a track, and without one the sound of a player is not in step with its pictures.
 */
const REPORT_MS = { first: 250, last: 5000 };
/** Over UDP, an RTCP BYE could overtake the last packets. */
const BYE_DELAY_MS = 200;

const keepTime = (unit: AccessUnit): TimedUnit => ({ unit, timeUs: unit.ptsUs });

export class Player implements Reader {
  readonly path: string;
  readonly tracks: Tracks;
  readonly delivery: Delivery;
  /** The publication has ended, or the player is stalled. */
  onEnd: (reason: string, isStalled: boolean) => void = () => {};
  missed = 0;

  readonly #limits: PlayerLimits;
  readonly #isRelay: boolean;
  readonly #tracks = new Map<number, PlayerTrack>();
  /** Null: the stream has none. */
  readonly #audioTrack: number | null;
  readonly #klvTrack: number | null;
  #audio: AudioTrack | null;
  #isOtherCodec = false;
  #joining: AccessUnit[] | null = null;
  #queue: TimedUnit[] = [];
  #queuedBytes = 0;
  #needsKey = false;
  /** PTS of the keyframe after dropped pictures: those displayed earlier refer to pictures that the player does not have. */
  #resumedUs = Number.NEGATIVE_INFINITY;
  #leave: (() => void) | null = null;
  /** Unix time of the timeline's start: the earliest that any picture implies, because it had the least delay. */
  #beginMs = Number.POSITIVE_INFINITY;
  #reportedAtMs = 0;
  #reportEveryMs = REPORT_MS.first;
  #sentBytes = 0;
  #sentAtMs = 0;
  #byeTimer: NodeJS.Timeout | undefined;

  constructor(path: string, tracks: Tracks, delivery: Delivery, limits: PlayerLimits, isRelay = false) {
    this.path = path;
    this.#isRelay = isRelay;
    this.tracks = tracks;
    this.#audio = tracks.audio;
    this.#audioTrack = tracks.audio === null ? null : 1;
    this.#klvTrack = tracks.klv === undefined ? null : (this.#audioTrack ?? VIDEO) + 1;
    this.delivery = delivery;
    this.#limits = limits;
  }

  /** Answers SETUP of one track, for a new player or an existing one. Rejects with a `StatusError`. */
  static async setUp(
    existing: Player | null,
    { path, tracks, track, url, header, limits, isRelay }: SetUpRequest,
    wire: Wire,
  ): Promise<{ player: Player; transport: string }> {
    const transport = expectTransport(header, false, existing?.delivery.kind ?? null, wire);
    const delivery =
      existing?.delivery ??
      (transport.kind === "tcp" ? new TcpDelivery(wire.socket) : new UdpDelivery(limits.readerBytes));
    const player = existing ?? new Player(path, tracks, delivery, limits, isRelay);
    if (listFormats(player.tracks)[track] === undefined) throw new StatusError(404, "the stream has no such track");
    let answer = "";
    if (transport.kind === "tcp" && delivery instanceof TcpDelivery) {
      const channels = transport.channels ?? defaultChannels(track);
      delivery.add(track, channels);
      answer = describeTcp(channels);
    } else if (transport.kind === "udp" && delivery instanceof UdpDelivery) {
      const pair = await UdpPair.open(wire);
      try {
        await pair.connect(wire.address, transport.ports);
      } catch {
        pair.close();
        throw new StatusError(461, "the client's UDP ports are unreachable: use TCP");
      }
      delivery.add(track, pair);
      pair.rtcp.on("message", () => wire.touch());
      answer = describeUdp(transport.ports, pair);
    }
    const ssrc = player.addTrack(track, url).toString(16).padStart(8, "0");
    return { player, transport: `${answer};ssrc=${ssrc}` };
  }

  get isPlaying(): boolean {
    return this.#leave !== null;
  }

  addTrack(track: number, url: string): number {
    const [type, clockRate] = listFormats(this.tracks)[track] ?? [VIDEO_TYPE, VIDEO_CLOCK];
    const sender = new RtpSender(type, clockRate);
    this.#tracks.set(track, { sender, url, lastUs: null });
    return sender.ssrc;
  }

  /** An audio-only player does not wait for keyframes. */
  get #hasVideo(): boolean {
    return this.#tracks.has(VIDEO);
  }

  /**
   * Joins the stream with `read` and returns the header `RTP-Info`. The cached units are queued and sent by `start`, after
   * the response, which announces the first packets.
   */
  join(read: (reader: Reader) => () => void): string {
    this.#joining = [];
    try {
      this.#leave = read(this);
      // A relay passes pictures on with the times that they have.
      this.#queue = this.#isRelay
        ? this.#joining.filter((unit) => this.#isWanted(unit)).map(keepTime)
        : squeeze(this.#joining);
    } finally {
      this.#joining = null;
    }
    this.#queuedBytes = this.#queue.reduce((sum, { unit }) => sum + byteLength(unit), 0);
    this.#needsKey = this.#hasVideo && this.#queue.length === 0;
    return this.#describeStart();
  }

  start(nowMs: number): void {
    this.#sentAtMs = nowMs;
    this.flush();
    this.#shed();
    this.#report(nowMs);
  }

  pause(): void {
    this.#leave?.();
    this.#leave = null;
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  setTracks({ video, audio }: Tracks): void {
    // Published again with another codec since it was described.
    this.#isOtherCodec = video.codec !== this.tracks.video.codec;
    // The SDP described the audio; it cannot change in a session. Video describes itself in the stream.
    const known = this.tracks.audio;
    this.#audio = audio !== null && known !== null && Buffer.compare(audio.config, known.config) === 0 ? audio : null;
  }

  push(unit: AccessUnit, isCached: boolean): void {
    const isVideo = unit.kind === "video";
    if (this.#isOtherCodec) return;
    if (isVideo) this.#beginMs = Math.min(this.#beginMs, unit.captureMs - unit.ptsUs / 1000);
    if (isCached) {
      this.#joining?.push(unit);
      return;
    }
    if (!isVideo && this.#audio === null) return;
    if (!this.#isWanted(unit)) return;
    if (this.#needsKey) {
      if (!isVideo || !unit.isKey) {
        if (isVideo) this.missed++;
        return;
      }
      this.#needsKey = false;
      this.#resumedUs = unit.ptsUs;
    }
    if (isVideo && unit.ptsUs < this.#resumedUs) {
      this.missed++;
      return;
    }
    if (this.#queue.length === 0 && this.delivery.hasRoom) this.#send(unit, unit.ptsUs);
    else {
      this.#queue.push({ unit, timeUs: unit.ptsUs });
      this.#queuedBytes += byteLength(unit);
      this.flush();
    }
    this.#shed();
  }

  end(reason: string): void {
    this.#leave = null;
    if (this.delivery.kind === "tcp") this.#sendBye();
    else this.#byeTimer = setTimeout(() => this.#sendBye(), BYE_DELAY_MS);
    this.onEnd(reason, false);
  }

  /** Sends queued units while there is room. */
  flush(): void {
    let count = 0;
    for (const { unit, timeUs } of this.#queue) {
      if (!this.delivery.hasRoom) break;
      count++;
      this.#queuedBytes -= byteLength(unit);
      this.#send(unit, timeUs);
    }
    if (count > 0) this.#queue = this.#queue.slice(count);
  }

  tick(nowMs: number): void {
    if (!this.isPlaying) return;
    if (this.#isOtherCodec) {
      this.close();
      this.onEnd("the codec of the stream has changed: describe it again", true);
      return;
    }
    const { sentBytes, queuedBytes } = this.delivery;
    if (queuedBytes === 0 || sentBytes !== this.#sentBytes) {
      this.#sentBytes = sentBytes;
      this.#sentAtMs = nowMs;
    } else if (nowMs - this.#sentAtMs > this.#limits.stalledMs) {
      this.close();
      this.onEnd(`the player accepted no data for ${this.#limits.stalledMs / 1000} s`, true);
      return;
    }
    if (nowMs - this.#reportedAtMs >= this.#reportEveryMs && this.delivery.hasRoom) this.#report(nowMs);
  }

  close(): void {
    this.pause();
    clearTimeout(this.#byeTimer);
    this.delivery.close();
  }

  /** One of its tracks is set up. */
  #isWanted(unit: AccessUnit): boolean {
    return this.#find(unit.kind === "video" ? VIDEO : this.#audioTrack) !== null || this.#hasKlv(unit);
  }

  #hasKlv({ klv }: AccessUnit): boolean {
    return klv !== undefined && this.#find(this.#klvTrack) !== null;
  }

  #find(index: number | null): PlayerTrack | null {
    return index === null ? null : (this.#tracks.get(index) ?? null);
  }

  #send(unit: AccessUnit, timeUs: number): void {
    if (this.#isRelay && this.#reportedAtMs === 0) this.#reportFirst(timeUs);
    if (this.#hasKlv(unit)) {
      for (const { data, ptsUs } of unit.klv ?? [])
        this.#write(this.#klvTrack, layOut(payloadKlv(data, PAYLOAD_BYTES)), ptsUs + timeUs - unit.ptsUs);
    }
    const index = unit.kind === "video" ? VIDEO : this.#audioTrack;
    if (this.#find(index) !== null) this.#write(index, packetsOf(unit, this.tracks), timeUs);
  }

  #write(index: number | null, packets: PacketSet, timeUs: number): void {
    const track = this.#find(index);
    if (track === null || index === null) return;
    track.lastUs = timeUs;
    const { delivery } = this;
    const target = delivery.bufferFor(packets.bytes.length);
    delivery.send(index, track.sender.write(packets, timeUs, delivery.channelOf(index), target));
  }

  /** Over the limit: continues at the last queued keyframe, or at the next one. */
  #shed(): void {
    if (this.#queuedBytes + this.delivery.queuedBytes <= this.#limits.readerBytes) return;
    const last = this.#queue.findLastIndex(({ unit }) => unit.kind === "video" && unit.isKey);
    const isUseful = last > 0;
    if (isUseful) this.#resumedUs = this.#queue[last]?.unit.ptsUs ?? this.#resumedUs;
    const isKept = ({ unit }: TimedUnit, i: number) =>
      isUseful && i >= last && (unit.kind === "audio" || unit.ptsUs >= this.#resumedUs);
    const dropped = this.#queue.filter((timed, i) => !isKept(timed, i));
    this.#queue = this.#queue.filter(isKept);
    this.#needsKey = this.#hasVideo && !isUseful;
    for (const { unit } of dropped) {
      this.#queuedBytes -= byteLength(unit);
      if (unit.kind === "video") this.missed++;
    }
  }

  /** The header `RTP-Info`: the first sequence number and timestamp of each track. */
  #describeStart(): string {
    const startUs = this.#queue.reduce((least, { timeUs }) => Math.min(least, timeUs), Number.POSITIVE_INFINITY);
    return [...this.#tracks.values()]
      .map(({ sender, url }) => {
        const start = Number.isFinite(startUs) ? `;rtptime=${sender.timestampOf(startUs)}` : "";
        return `url=${url};seq=${sender.sequence}${start}`;
      })
      .join(",");
  }

  /** Before the first packet: the other hub knows the capture time of every picture. */
  #reportFirst(timeUs: number): void {
    for (const track of this.#tracks.values()) track.lastUs = timeUs;
    this.#report(performance.now());
  }

  #report(nowMs: number): void {
    if (!Number.isFinite(this.#beginMs)) return;
    if (this.#reportedAtMs !== 0) this.#reportEveryMs = Math.min(2 * this.#reportEveryMs, REPORT_MS.last);
    this.#reportedAtMs = nowMs;
    for (const [index, { sender, lastUs }] of this.#tracks) {
      if (lastUs === null) continue;
      this.delivery.sendReport(index, sender.report(this.#beginMs + lastUs / 1000, lastUs));
    }
    // Measured again for the next report: the clocks of publisher and server drift.
    this.#beginMs = Number.POSITIVE_INFINITY;
  }

  #sendBye(): void {
    for (const [index, { sender, lastUs }] of this.#tracks) {
      this.delivery.sendReport(index, sender.bye(Date.now(), lastUs ?? 0));
    }
  }
}
