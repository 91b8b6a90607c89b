/** Feeds a publisher's RTMP messages to the ingest of its stream. */

import { readAudioConfig } from "../../media/aac/config.ts";
import { MediaError } from "../../media/access-unit.ts";
import { CODECS, SUPPORTED_VIDEO } from "../../media/codecs.ts";
import { splitLengths } from "../../media/h264/nal.ts";
import { readAudio, readVideo } from "../../media/rtmp/flv.ts";
import { MESSAGE, type Message } from "../../media/rtmp/message.ts";
import type { Ingest } from "../ingest.ts";

export class RtmpToStream {
  readonly #ingest: Ingest;
  readonly #onAudioDropped: (reason: string) => void;
  #lastMs: number | null = null;
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
  }

  #pushVideo({ body, timestamp }: Message): void {
    const video = readVideo(body);
    if (video.kind === "unsupported") {
      throw new MediaError(`expected ${SUPPORTED_VIDEO}, received ${video.codec}: set the encoder to one of them`);
    }
    const dtsMs = this.#unwrap(timestamp);
    if (video.kind === "config") {
      this.#ingest.setCodec(video.codec);
      const { parameterSets, lengthSize } = CODECS[video.codec].readConfig(video.config);
      this.#lengthSize = lengthSize;
      this.#ingest.setVideo(...parameterSets);
    }
    // NAL units cannot be split before the configuration.
    if (video.kind !== "picture" || this.#lengthSize === null) return;
    this.#ingest.setCodec(video.codec);
    this.#ingest.pushVideo({
      ptsUs: (dtsMs + video.compositionMs) * 1000,
      dtsUs: dtsMs * 1000,
      captureMs: null,
      nals: splitLengths(video.nals, this.#lengthSize),
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
