/** One publisher by RTSP: packets of its tracks become pictures and sound of its publication. */

import { AacDepayloader } from "../../media/rtp/aac.ts";
import { H264Depayloader } from "../../media/rtp/h264.ts";
import { readRtp } from "../../media/rtp/packet.ts";
import { JitterBuffer, type JitterBufferLimits, ReceptionReporter } from "../../media/rtp/receiver.ts";
import { readSenderReport } from "../../media/rtp/rtcp.ts";
import { SenderClock, type TrackClock } from "../../media/rtp/sender-clock.ts";
import { readParameterSets, type SdpMedia } from "../../media/rtsp/sdp.ts";
import { guardBy } from "../guard.ts";
import { Intake } from "../intake.ts";
import type { Publication } from "../streams.ts";
import type { Announced } from "./announced.ts";
import type { UdpPair } from "./udp-pair.ts";

interface TrackIntake {
  readonly isVideo: boolean;
  readonly payloadType: number;
  readonly times: TrackClock;
  readonly reorder: JitterBuffer;
  readonly feedback: ReceptionReporter;
}

export interface PublisherLimits {
  readonly unitBytes: number;
  /** How often it is told, by UDP, what has come. */
  readonly reportMs: number;
}

/** Packets that overtake one another do so by little; what takes longer is lost. */
const UDP_REORDER = { maxPackets: 256, waitMs: 40 };
const TCP_REORDER = { maxPackets: 1, waitMs: 0 };

export class Publisher {
  readonly path: string;
  readonly media: readonly SdpMedia[];
  isRecording = false;
  isClosed = false;
  kind: "tcp" | "udp" | null = null;

  readonly #publication: Publication;
  readonly #intake: Intake;
  readonly #announced: Announced;
  readonly #times = new SenderClock(Date.now());
  /** By the place in `media`: those that are set up and not ignored. */
  readonly #tracks = new Map<number, TrackIntake>();
  readonly #channels = new Map<number, { readonly track: number; readonly isRtcp: boolean }>();
  readonly #pairs = new Map<number, UdpPair>();
  readonly #limits: PublisherLimits;
  #timer: NodeJS.Timeout | null = null;
  /** What it sent cannot be used: it must go. */
  onFault: (error: unknown) => void = () => {};
  readonly #guard = guardBy((error) => this.onFault(error));

  constructor(announced: Announced, publication: Publication, limits: PublisherLimits) {
    this.path = publication.path;
    this.media = announced.media;
    this.#announced = announced;
    this.#publication = publication;
    this.#limits = limits;
    this.#intake = new Intake(publication, limits);
  }

  get isSetUp(): boolean {
    return this.#tracks.has(this.media.indexOf(this.#announced.video));
  }

  /** False when the channels are in use. */
  addChannels(track: number, [rtp, rtcp]: readonly [number, number]): boolean {
    if (this.#channels.has(rtp) || this.#channels.has(rtcp)) return false;
    this.kind = "tcp";
    this.#channels.set(rtp, { track, isRtcp: false });
    this.#channels.set(rtcp, { track, isRtcp: true });
    this.#addTrack(track, TCP_REORDER);
    return true;
  }

  /** Whatever comes from another address is not looked at, nor from another port than the first packet came from. */
  addPair(track: number, pair: UdpPair, address: string, ports: readonly [number, number]): void {
    this.kind = "udp";
    this.#pairs.get(track)?.close();
    this.#pairs.set(track, pair);
    this.#addTrack(track, UDP_REORDER);
    for (const [socket, isRtcp, toldPort] of [
      [pair.rtp, false, ports[0]],
      [pair.rtcp, true, ports[1]],
    ] as const) {
      const take = this.#guard((packet: Buffer) => this.#take(track, isRtcp, packet));
      let port: number | null = null;
      socket.on("message", (packet, from) => {
        if (from.address !== address) return;
        // Behind a NAT it is another than it told; where the told one is heard of, it was no NAT.
        if (port === null || from.port === toldPort) port = from.port;
        if (from.port === port) take(packet);
      });
    }
    const [, rtcpPort] = ports;
    const feedback = this.#tracks.get(track)?.feedback;
    if (feedback !== undefined) feedback.send = (report) => pair.rtcp.send(report, rtcpPort, address, () => {});
  }

  /** Throws an `IntakeFault`. */
  record(): void {
    if (this.isRecording) return;
    this.isRecording = true;
    const { video, audio } = this.#announced;
    const sets = readParameterSets(video);
    if (sets !== null) this.#intake.setVideo(sets.sps, sets.pps);
    const isHeard = audio !== null && this.#tracks.has(this.media.indexOf(audio.media));
    this.#intake.setAudio(isHeard ? audio.track : null);
  }

  /** What comes is not looked at until it records again. */
  pause(): void {
    this.isRecording = false;
  }

  /** Throws a `MediaError` or an `IntakeFault` when it must go. */
  frame(channel: number, packet: Uint8Array): void {
    const target = this.#channels.get(channel);
    if (target !== undefined) this.#take(target.track, target.isRtcp, packet);
  }

  tick(nowMs: number): void {
    for (const { feedback } of this.#tracks.values()) feedback.tick(nowMs);
  }

  close(reason: string): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.isRecording = false;
    this.isClosed = true;
    this.#intake.close(reason);
    for (const pair of this.#pairs.values()) pair.close();
    this.#pairs.clear();
  }

  #take(index: number, isRtcp: boolean, bytes: Uint8Array): void {
    const track = this.#tracks.get(index);
    if (!this.isRecording || track === undefined) return;
    if (isRtcp) {
      const report = readSenderReport(bytes);
      if (!report) return;
      track.times.handleReport(report, Date.now());
      track.feedback.handleSenderReport(report);
      return;
    }
    const packet = readRtp(bytes);
    if (packet === null || packet.payloadType !== track.payloadType) return;
    if (track.isVideo) this.#publication.heard();
    track.feedback.handlePacket(packet);
    track.reorder.push(packet, performance.now());
    if (track.reorder.deadlineMs !== null) this.#awaitGap();
  }

  #awaitGap(): void {
    this.#timer ??= setTimeout(this.#letGapsGo, UDP_REORDER.waitMs);
  }

  readonly #letGapsGo = this.#guard((): void => {
    this.#timer = null;
    for (const { reorder } of this.#tracks.values()) {
      reorder.flush(performance.now());
      if (reorder.deadlineMs !== null) this.#awaitGap();
    }
  });

  #addTrack(index: number, limits: JitterBufferLimits): void {
    const media = this.media[index] as SdpMedia;
    const isVideo = media === this.#announced.video;
    const times = this.#times.addTrack(media.clockRate, isVideo);
    const depayloader = this.#makeDepayloader(media, times);
    if (depayloader === null) return;
    const reorder = new JitterBuffer(limits, (packet, isAfterLoss) => depayloader.push(packet, isAfterLoss));
    const feedback = new ReceptionReporter(reorder, media.clockRate, this.#limits.reportMs);
    this.#tracks.set(index, { isVideo, payloadType: media.payloadType, times, reorder, feedback });
  }

  /** Null for a track that is ignored. */
  #makeDepayloader(media: SdpMedia, times: TrackClock): H264Depayloader | AacDepayloader | null {
    const { video, audio } = this.#announced;
    if (media === video) {
      return new H264Depayloader(this.#limits.unitBytes, ({ timestamp, nals }) =>
        this.#intake.picture({ ...times.convert(timestamp, Date.now()), dtsUs: null, nals }),
      );
    }
    if (media !== audio?.media) return null;
    return new AacDepayloader(audio.layout, ({ timestamp, frame }) =>
      this.#intake.sound({ ...times.convert(timestamp, Date.now()), frame }),
    );
  }
}
