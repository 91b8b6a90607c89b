/** Feeds a publisher's RTMP messages to the ingest of its stream. */

import { readAudioConfig } from "../../media/aac/config.ts";
import { MediaError } from "../../media/access-unit.ts";
import { CODECS, SUPPORTED_VIDEO } from "../../media/codecs.ts";
import { splitLengths, splitStartCodes } from "../../media/h264/nal.ts";
import { readAggregate, readAudio, readVideo } from "../../media/rtmp/flv.ts";
import { MESSAGE, type Message } from "../../media/rtmp/message.ts";
import type { Ingest } from "../ingest.ts";

const DEFAULT_LENGTH_SIZE = 4;

export class RtmpToStream {
  readonly #ingest: Ingest;
  readonly #onAudioDropped: (reason: string) => void;
  #lastMs: number | null = null;
  /** Bytes of the length before each NAL unit. Null: no configuration yet. */
  #lengthSize: number | null = null;
  #isAudioDropped = false;

  /** `onAudioDropped` is called once if the audio is unsupported; the video is published. */
  constructor(ingest: Ingest, onAudioDropped: (reason: string) => void) {
    this.#ingest = ingest;
    this.#onAudioDropped = onAudioDropped;
  }

  /** Throws a `MediaError` if the publisher must be disconnected. */
  push(message: Message): void {
    if (message.type === MESSAGE.video) this.#pushVideo(message);
    else if (message.type === MESSAGE.audio) this.#pushAudio(message);
    else if (message.type === MESSAGE.aggregate)
      for (const part of readAggregate(message)) if (part.type !== MESSAGE.aggregate) this.push(part);
  }

  #pushVideo({ body, timestamp }: Message): void {
    const video = readVideo(body);
    if (video.kind === "unsupported") {
      throw new MediaError(`expected ${SUPPORTED_VIDEO}, received ${video.codec}: set the encoder to one of them`);
    }
    const dtsMs = this.#unwrap(timestamp);
    // Some encoders send an empty configuration first.
    if (video.kind === "config" && video.config.length > 0) {
      this.#ingest.setCodec(video.codec);
      const { parameterSets, lengthSize } = CODECS[video.codec].readConfig(video.config);
      this.#lengthSize = lengthSize;
      this.#ingest.setVideo(...parameterSets);
    }
    if (video.kind !== "picture") return;
    this.#ingest.setCodec(video.codec);
    const nals = splitPicture(video.nals, this.#lengthSize);
    if (nals === null) return;
    this.#ingest.pushVideo({
      ptsUs: (dtsMs + video.compositionMs) * 1000,
      dtsUs: dtsMs * 1000,
      captureMs: null,
      nals,
    });
  }

  #pushAudio({ body, timestamp }: Message): void {
    const audio = readAudio(body);
    const ptsUs = this.#unwrap(timestamp) * 1000;
    if (audio.kind === "config") this.#setAudio(audio.config);
    else if (audio.kind === "frame") this.#ingest.pushAudio({ ptsUs, captureMs: null, frame: audio.frame });
    else if (audio.kind === "unsupported") this.#dropAudio(`expected AAC, received ${audio.codec}`);
  }

  #setAudio(config: Uint8Array): void {
    try {
      this.#ingest.setAudio({ codec: "aac", config, ...readAudioConfig(config) });
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      this.#ingest.setAudio(null);
      this.#dropAudio(error.message);
    }
  }

  #dropAudio(reason: string): void {
    if (this.#isAudioDropped) return;
    this.#isAudioDropped = true;
    this.#onAudioDropped(reason);
  }

  /** Continues where the 32-bit milliseconds wrap: the shorter distance, forward or back. */
  #unwrap(timestamp: number): number {
    this.#lastMs = this.#lastMs === null ? timestamp : this.#lastMs + ((timestamp - this.#lastMs) | 0);
    return this.#lastMs;
  }
}

/**
 * FLV has lengths before NAL units; some encoders leave the start codes of a byte stream there, and some send no
 * configuration, but parameter sets in their keyframes. Null: not readable before the configuration. Throws a `MediaError`.
 */
function splitPicture(bytes: Uint8Array, lengthSize: number | null): Uint8Array[] | null {
  try {
    return splitLengths(bytes, lengthSize ?? DEFAULT_LENGTH_SIZE);
  } catch (error) {
    // As a length, a start code is a NAL unit of one byte, after which nothing fits.
    if (bytes[0] === 0 && bytes[1] === 0 && bytes[2] === 0 && bytes[3] === 1) return splitStartCodes(bytes);
    if (lengthSize === null) return null;
    throw error;
  }
}
