/**
 * One RTSP publisher, or the hub of another node that relays a stream: reads its SDP, receives RTP over the connection or UDP,
 * and feeds the ingest of its stream.
 */
import { type AudioTrack, MediaError } from "../../media/access-unit.ts";
import type { Codec } from "../../media/codec.ts";
import { findByEncoding, SUPPORTED_VIDEO } from "../../media/codecs.ts";
import { AacDepayloader, type AacLayout } from "../../media/rtp/aac.ts";
import { KlvDepayloader } from "../../media/rtp/klv.ts";
import { NalDepayloader } from "../../media/rtp/nal-units.ts";
import { type RtpPacket, readRtp } from "../../media/rtp/packet.ts";
import { JitterBuffer, type JitterBufferLimits, ReceptionReporter } from "../../media/rtp/receiver.ts";
import { readSenderReport } from "../../media/rtp/rtcp.ts";
import { SenderClock, type TrackClock } from "../../media/rtp/sender-clock.ts";
import type { Pair } from "../../media/rtsp/headers.ts";
import { isKlvMedia, readAac, readParameterSets, readSdp, type SdpMedia, VIDEO_CLOCK } from "../../media/rtsp/sdp.ts";
import { guardBy, StatusError } from "../errors.ts";
import { Ingest } from "../ingest.ts";
import type { Link, Publication } from "../live-stream.ts";
import { findTrack } from "../path.ts";
import {
  channelsInUse,
  defaultChannels,
  describeTcp,
  describeUdp,
  expectTransport,
  UdpPair,
  type Wire,
} from "./transport.ts";

/** What an SDP announces: one video, and optionally one AAC audio and KLV metadata. */
export interface Announced {
  /** All tracks, including ignored ones: the publisher sets them up too. */
  readonly media: readonly SdpMedia[];
  readonly video: SdpMedia;
  readonly codec: Codec;
  readonly audio: { readonly media: SdpMedia; readonly track: AudioTrack; readonly layout: AacLayout } | null;
  /** Why the announced audio is dropped. Null if it is not. */
  readonly audioDropped: string | null;
  readonly klv: SdpMedia | null;
}

/** Throws a `StatusError`. */
export function readAnnounced(sdp: string): Announced {
  const media = readSdp(sdp);
  if (media === null) throw new StatusError(400, "expected a session description (SDP)");
  const audio = findAudio(media);
  const other = audio === null ? media.find(({ kind }) => kind === "audio") : undefined;
  const audioDropped =
    other === undefined ? null : `expected AAC by RFC 3640 (mpeg4-generic), received ${nameOf(other)}`;
  return { media, ...findVideo(media), audio, audioDropped, klv: media.find(isKlvMedia) ?? null };
}

function findVideo(media: readonly SdpMedia[]): Pick<Announced, "video" | "codec"> {
  const videos = media.filter(({ kind }) => kind === "video");
  for (const video of videos) {
    const codec = video.clockRate === VIDEO_CLOCK ? findByEncoding(video.encoding) : undefined;
    if (codec === undefined) continue;
    const reason = codec.findUnsupported(video.parameters);
    if (reason !== null) throw new StatusError(415, reason);
    return { video, codec };
  }
  const [first] = videos;
  if (first === undefined) throw new StatusError(415, `expected ${SUPPORTED_VIDEO}, the SDP has no video`);
  const name = nameOf(first);
  if (findByEncoding(first.encoding) !== undefined)
    throw new StatusError(415, `expected a clock of ${VIDEO_CLOCK} Hz, the SDP has ${name}/${first.clockRate}`);
  throw new StatusError(415, `expected ${SUPPORTED_VIDEO}, received ${name}: set the encoder to one of them`);
}

const nameOf = ({ encoding }: SdpMedia): string =>
  encoding.replace(/[^A-Z0-9.-]/g, "").replace(/^H26/, "H.26") || "an unknown codec";

function findAudio(media: readonly SdpMedia[]): Announced["audio"] {
  for (const one of media) {
    const aac = one.kind === "audio" ? readAac(one) : null;
    if (aac !== null) return { media: one, ...aac };
  }
  return null;
}

interface ReceivedTrack {
  readonly isVideo: boolean;
  readonly payloadType: number;
  readonly clock: TrackClock;
  readonly buffer: JitterBuffer;
  readonly reporter: ReceptionReporter;
}

export interface PublisherOptions {
  readonly unitBytes: number;
  /** Interval of receiver reports over UDP. */
  readonly reportMs: number;
  /** The publisher sent invalid media and must be disconnected. */
  readonly onError: (error: unknown) => void;
}

/** Packets overtake one another by little; later ones count as lost. */
const UDP_LIMITS: JitterBufferLimits = { maxPackets: 256, waitMs: 40 };
/** Some precede the video, such as those of a tunnel. */
const MAX_OTHERS = 100;
const TCP_LIMITS: JitterBufferLimits = { maxPackets: 1, waitMs: 0 };

export class Publisher {
  isRecording = false;
  kind: "tcp" | "udp" | null = null;

  readonly #publication: Publication;
  readonly #ingest: Ingest;
  readonly #announced: Announced;
  readonly #options: PublisherOptions;
  readonly #clock = new SenderClock(Date.now());
  /** By index in the SDP: tracks that are set up and not ignored. */
  readonly #tracks = new Map<number, ReceivedTrack>();
  readonly #channels = new Map<number, { readonly track: number; readonly isRtcp: boolean }>();
  readonly #pairs = new Map<number, UdpPair>();
  readonly #guard = guardBy((error) => this.#options.onError(error));
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** When the publication was touched last. */
  #touchedMs = Number.NEGATIVE_INFINITY;
  /** Packets of the video's track with another payload type. */
  #others = 0;

  constructor(announced: Announced, publication: Publication, options: PublisherOptions) {
    this.#announced = announced;
    this.#publication = publication;
    this.#options = options;
    this.#ingest = new Ingest(publication, options);
    this.#ingest.setCodec(announced.codec.name);
  }

  get isSetUp(): boolean {
    return this.#tracks.has(this.#announced.media.indexOf(this.#announced.video));
  }

  /** Answers SETUP with the header `Transport`. `base`: the announced address. Rejects with a `StatusError`. */
  async setUp(rest: string, base: string, header: string, wire: Wire): Promise<string> {
    const transport = expectTransport(header, true, this.kind, wire);
    const index = findTrack(
      rest,
      base,
      this.#announced.media.map(({ control }) => control),
    );
    if (index === -1) throw new StatusError(404, "no such track was announced");
    if (transport.kind === "tcp") {
      const channels = transport.channels ?? defaultChannels(index);
      this.addChannels(index, channels);
      return `${describeTcp(channels)};mode=record`;
    }
    const pair = await UdpPair.open(wire);
    if (this.#isClosed) {
      pair.close();
      throw new StatusError(455, "the session has ended");
    }
    this.#addPair(index, pair, wire.address, transport.ports);
    return `${describeUdp(transport.ports, pair)};mode=record`;
  }

  /** Receives a track, by its index in the SDP, in these interleaved channels. Throws a `StatusError`. */
  addChannels(track: number, [rtp, rtcp]: Pair): void {
    if (this.#channels.has(rtp) || this.#channels.has(rtcp)) throw channelsInUse();
    this.kind = "tcp";
    this.#channels.set(rtp, { track, isRtcp: false });
    this.#channels.set(rtcp, { track, isRtcp: true });
    this.#addTrack(track, TCP_LIMITS);
  }

  /** Accepts packets only from the client's address, and from one port. */
  #addPair(track: number, pair: UdpPair, address: string, ports: Pair): void {
    this.kind = "udp";
    this.#pairs.get(track)?.close();
    this.#pairs.set(track, pair);
    this.#addTrack(track, UDP_LIMITS);
    for (const [socket, isRtcp, statedPort] of [
      [pair.rtp, false, ports[0]],
      [pair.rtcp, true, ports[1]],
    ] as const) {
      const handle = this.#guard((packet: Buffer) => this.#handlePacket(track, isRtcp, packet, performance.now()));
      let port: number | null = null;
      socket.on("message", (packet, from) => {
        if (from.address !== address) return;
        // Behind a NAT, the port differs from the stated one. A packet from the stated port proves that there is no NAT.
        if (port === null || from.port === statedPort) port = from.port;
        if (from.port === port) handle(packet);
      });
    }
    this.#publication.readLink = () => this.#readLink();
    const [, rtcpPort] = ports;
    const reporter = this.#tracks.get(track)?.reporter;
    if (reporter !== undefined) reporter.send = (report) => pair.rtcp.send(report, rtcpPort, address, () => {});
  }

  /** Throws a `MediaError`. */
  record(): void {
    if (this.isRecording) return;
    this.isRecording = true;
    const { media, video, codec, audio, klv } = this.#announced;
    const sets = readParameterSets(codec, video);
    if (sets !== null) this.#ingest.setVideo(...sets);
    const isSetUp = audio !== null && this.#tracks.has(media.indexOf(audio.media));
    this.#ingest.setAudio(isSetUp ? audio.track : null);
    // Its times are exact, but more players of MPEG-TS read metadata without cells.
    const hasKlv = klv !== null && this.#tracks.has(media.indexOf(klv));
    this.#ingest.setKlv(hasKlv ? "asynchronous" : null);
  }

  /** Ignores packets until it records again. */
  pause(): void {
    this.isRecording = false;
  }

  /** Handles an interleaved packet that arrived now. Throws a `MediaError` if the publisher must be disconnected. */
  handleFrame(channel: number, packet: Uint8Array, nowMs: number): void {
    const target = this.#channels.get(channel);
    if (target !== undefined) this.#handlePacket(target.track, target.isRtcp, packet, nowMs);
  }

  tick(nowMs: number): void {
    for (const { reporter } of this.#tracks.values()) reporter.tick(nowMs);
  }

  close(reason: string): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.isRecording = false;
    this.#isClosed = true;
    this.#publication.close(reason);
    for (const pair of this.#pairs.values()) pair.close();
    this.#pairs.clear();
  }

  #handlePacket(index: number, isRtcp: boolean, bytes: Uint8Array, nowMs: number): void {
    const track = this.#tracks.get(index);
    if (!this.isRecording || track === undefined) return;
    if (isRtcp) {
      const report = readSenderReport(bytes);
      if (report === null) return;
      track.clock.handleReport(report, Date.now());
      track.reporter.handleSenderReport(report);
      return;
    }
    const packet = readRtp(bytes);
    if (packet === null) return;
    if (packet.payloadType !== track.payloadType) {
      this.#countOther(track, packet);
      return;
    }
    if (track.isVideo && nowMs !== this.#touchedMs) {
      this.#touchedMs = nowMs;
      this.#publication.touch();
    }
    track.reporter.handlePacket(packet);
    track.buffer.push(packet, nowMs);
    if (track.buffer.deadlineMs !== null) this.#awaitGap();
  }

  /** Throws a `MediaError` if all packets of the video have another type than announced. */
  #countOther(track: ReceivedTrack, { payloadType }: RtpPacket): void {
    if (!track.isVideo || track.buffer.received > 0 || ++this.#others < MAX_OTHERS) return;
    throw new MediaError(
      `expected RTP packets of payload type ${track.payloadType}, as announced, received ${payloadType}`,
    );
  }

  /** Packets of RTP over UDP are not sent again. */
  #readLink(): Link {
    const buffers = [...this.#tracks.values()].map(({ buffer }) => buffer);
    const received = buffers.reduce((sum, buffer) => sum + buffer.received, 0);
    const lost = buffers.reduce((sum, buffer) => sum + buffer.lost, 0);
    return { rttMs: null, received, lost, dropped: lost };
  }

  #awaitGap(): void {
    this.#timer ??= setTimeout(this.#flushGaps, UDP_LIMITS.waitMs);
  }

  readonly #flushGaps = this.#guard((): void => {
    this.#timer = null;
    for (const { buffer } of this.#tracks.values()) {
      buffer.flush(performance.now());
      if (buffer.deadlineMs !== null) this.#awaitGap();
    }
  });

  /** Ignores tracks other than the announced video, audio and metadata. */
  #addTrack(index: number, limits: JitterBufferLimits): void {
    const { media: all, video, audio, klv } = this.#announced;
    const media = all[index] as SdpMedia;
    const isVideo = media === video;
    if (!isVideo && media !== audio?.media && media !== klv) return;
    const clock = this.#clock.addTrack(media.clockRate, isVideo, media === klv);
    const depayloader = this.#openDepayloader(media, clock);
    const buffer = new JitterBuffer(limits, (packet, isAfterLoss) => depayloader.push(packet, isAfterLoss));
    const reporter = new ReceptionReporter(buffer, media.clockRate, this.#options.reportMs);
    this.#tracks.set(index, { isVideo, payloadType: media.payloadType, clock, buffer, reporter });
  }

  #openDepayloader(media: SdpMedia, clock: TrackClock): { push(packet: RtpPacket, isAfterLoss: boolean): void } {
    const { codec, audio, klv } = this.#announced;
    if (media === klv)
      return new KlvDepayloader(({ timestamp, data }) =>
        this.#ingest.pushKlv({ ptsUs: clock.convert(timestamp, Date.now()).ptsUs, data }),
      );
    if (media === audio?.media)
      return new AacDepayloader(audio.layout, ({ timestamp, frame }) =>
        this.#ingest.pushAudio({ ...clock.convert(timestamp, Date.now()), frame }),
      );
    return new NalDepayloader(codec, this.#options.unitBytes, ({ timestamp, nals }) => {
      // Without spread syntax, here and in `Ingest`: V8 took a quarter of the hub's processor time for it.
      const { ptsUs, captureMs } = clock.convert(timestamp, Date.now());
      this.#ingest.pushVideo({ ptsUs, dtsUs: null, captureMs, nals });
    });
  }
}
