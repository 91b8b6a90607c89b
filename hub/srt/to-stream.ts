/** Feeds a publisher's MPEG-TS to the ingest of its stream. */
import { AdtsReader, SAMPLES } from "../../media/aac/adts.ts";
import { readAudioConfig } from "../../media/aac/config.ts";
import { MediaError } from "../../media/access-unit.ts";
import type { Codec } from "../../media/codec.ts";
import { CODECS, isParameterSet, SUPPORTED_VIDEO } from "../../media/codecs.ts";
import { splitStartCodes } from "../../media/h264/nal.ts";
import { type ElementaryStream, type PesPacket, TsDemuxer } from "../../media/mpegts/demuxer.ts";
import { carriageOf, isKlv, splitCells } from "../../media/mpegts/klv-cells.ts";
import { STREAM_TYPE } from "../../media/mpegts/packet.ts";
import type { Ingest, VideoInput } from "../ingest.ts";

/** Codecs of video, by `stream_type`. */
const VIDEO: ReadonlyMap<number, Codec> = new Map([
  [STREAM_TYPE.h264, CODECS.h264],
  [STREAM_TYPE.h265, CODECS.h265],
]);
const NAMES: ReadonlyMap<number, string> = new Map([
  [0x01, "MPEG-1 video"],
  [0x02, "MPEG-2 video"],
  [0x10, "MPEG-4 part 2"],
  [0x33, "H.266"],
  [STREAM_TYPE.mpeg1Audio, "MPEG audio"],
  [STREAM_TYPE.mpeg2Audio, "MPEG audio"],
  [STREAM_TYPE.latm, "AAC in LATM"],
  [STREAM_TYPE.ac3, "AC-3"],
]);
const AUDIO_TYPES: readonly number[] = [
  ...[STREAM_TYPE.mpeg1Audio, STREAM_TYPE.mpeg2Audio, STREAM_TYPE.latm, STREAM_TYPE.ac3],
];

/** Pictures that wait for the first audio frame, so that readers know both tracks from the start: about a second. */
const MAX_WAITING = 30;
/** With their metadata. */
const MAX_WAITING_UNITS = 256;

export class SrtToStream {
  readonly #ingest: Ingest;
  readonly #onAudioDropped: (reason: string) => void;
  readonly #demuxer: TsDemuxer;
  readonly #adts = new AdtsReader();
  #codec: Codec = CODECS.h264;
  #config: Uint8Array | null = null;
  #sampleRate = 0;
  /** After a lost packet, pictures that refer to missing ones are dropped. */
  #needsKey = false;
  #isAudioDropped = false;
  /** Null: the format of the audio is known, or not waited for any longer. */
  #waiting: (() => void)[] | null = null;
  #waitingPictures = 0;
  #waitingBytes = 0;
  readonly #maxWaitingBytes: number;

  /** `onAudioDropped` is called once if the audio is unsupported; the video is published. */
  constructor(ingest: Ingest, limits: { readonly unitBytes: number }, onAudioDropped: (reason: string) => void) {
    this.#ingest = ingest;
    this.#onAudioDropped = onAudioDropped;
    this.#maxWaitingBytes = limits.unitBytes;
    this.#demuxer = new TsDemuxer({
      unitBytes: limits.unitBytes,
      onStreams: (streams) => this.#select(streams),
      onPacket: (packet) => {
        if (VIDEO.has(packet.stream.type)) this.#pushVideo(packet);
        else if (isKlv(packet.stream)) this.#pushKlv(packet);
        else this.#pushAudio(packet);
      },
    });
  }

  /** Throws a `MediaError` if the publisher must be disconnected. */
  push(bytes: Uint8Array): void {
    this.#demuxer.push(bytes);
  }

  /** The stream has ended: its last picture is complete. Throws a `MediaError`. */
  end(): void {
    this.#demuxer.flush();
    this.#stopWaiting();
  }

  /** The first video, the first AAC and the first KLV metadata. */
  #select(streams: readonly ElementaryStream[]): ElementaryStream[] {
    const video = streams.find(({ type }) => VIDEO.has(type));
    if (video === undefined) {
      const names = streams.flatMap(({ type }) => NAMES.get(type) ?? []);
      throw new MediaError(
        `expected ${SUPPORTED_VIDEO}, received ${names.length === 0 ? "no known video" : names.join(", ")}: set the encoder to H.264`,
      );
    }
    this.#codec = VIDEO.get(video.type) ?? CODECS.h264;
    this.#ingest.setCodec(this.#codec.name);
    const audio = streams.find(({ type }) => type === STREAM_TYPE.adts);
    const other = streams.find(({ type }) => AUDIO_TYPES.includes(type));
    if (audio === undefined) {
      this.#ingest.setAudio(null);
      if (other !== undefined) this.#dropAudio(`expected AAC in ADTS, received ${NAMES.get(other.type)}`);
    }
    if (audio !== undefined && this.#config === null) this.#waiting ??= [];
    const klv = streams.find(isKlv);
    this.#ingest.setKlv(klv === undefined ? null : carriageOf(klv));
    return [video, audio, klv].filter((stream) => stream !== undefined);
  }

  #pushVideo({ ptsUs, dtsUs, arrivedMs, data, isAfterLoss }: PesPacket): void {
    const codec = this.#codec;
    const startsDecoding = (nal: Uint8Array): boolean => isParameterSet(codec, nal) || codec.startsDecoding(nal);
    if (isAfterLoss) this.#needsKey = true;
    splitPictures(codec, data).forEach((nals, index) => {
      if (this.#needsKey && !nals.some(startsDecoding)) return;
      this.#needsKey = false;
      const isFirst = index === 0;
      const times = isFirst ? { ptsUs, dtsUs } : { ptsUs: null, dtsUs: null };
      this.#pushPicture({ ...times, captureMs: arrivedMs, nals });
    });
  }

  #pushPicture(picture: VideoInput): void {
    if (this.#waiting === null) {
      this.#ingest.pushVideo(picture);
      return;
    }
    this.#waiting.push(() => this.#ingest.pushVideo(picture));
    this.#waitingPictures += 1;
    this.#waitingBytes += picture.nals.reduce((sum, nal) => sum + nal.length, 0);
    if (this.#waitingPictures === MAX_WAITING || this.#waitingBytes > this.#maxWaitingBytes) this.#stopWaiting();
  }

  #stopWaiting(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const push of waiting) push();
  }

  #pushKlv({ ptsUs, data }: PesPacket): void {
    for (const unit of splitCells(data)) {
      if (this.#waiting === null) this.#ingest.pushKlv({ ptsUs, data: unit });
      else {
        this.#waiting.push(() => this.#ingest.pushKlv({ ptsUs, data: unit }));
        this.#waitingBytes += unit.length;
        const isFull = this.#waiting.length === MAX_WAITING_UNITS || this.#waitingBytes > this.#maxWaitingBytes;
        if (isFull) this.#stopWaiting();
      }
    }
  }

  #pushAudio({ ptsUs, arrivedMs, data, isAfterLoss }: PesPacket): void {
    if (isAfterLoss) this.#adts.reset();
    this.#adts.push(data).forEach(({ config, frame }, index) => {
      if (this.#config === null || Buffer.compare(config, this.#config) !== 0) this.#setAudio(config);
      if (this.#sampleRate === 0) return;
      const offsetUs = (index * SAMPLES * 1e6) / this.#sampleRate;
      this.#ingest.pushAudio({ ptsUs: ptsUs === null ? null : ptsUs + offsetUs, captureMs: arrivedMs, frame });
    });
  }

  #setAudio(config: Uint8Array): void {
    this.#config = config;
    try {
      const audio = readAudioConfig(config);
      this.#sampleRate = audio.sampleRate;
      this.#ingest.setAudio({ codec: "aac", config, ...audio });
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      this.#sampleRate = 0;
      this.#ingest.setAudio(null);
      this.#dropAudio(error.message);
    }
    this.#stopWaiting();
  }

  #dropAudio(reason: string): void {
    if (this.#isAudioDropped) return;
    this.#isAudioDropped = true;
    this.#onAudioDropped(reason);
  }
}

/** A PES packet has one picture as a rule; several begin with a delimiter or parameter sets each. */
function splitPictures(codec: Codec, data: Uint8Array): Uint8Array[][] {
  const pictures: Uint8Array[][] = [];
  let nals: Uint8Array[] = [];
  for (const nal of splitStartCodes(data)) {
    if (codec.rtp.startsPicture(nal) && nals.some((other) => codec.kindOf(other) === "slice")) {
      pictures.push(nals);
      nals = [];
    }
    nals.push(nal);
  }
  return nals.length === 0 ? pictures : [...pictures, nals];
}
