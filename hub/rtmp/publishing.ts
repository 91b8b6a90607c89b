/** From RTMP's messages to the intake. */

import { readAudioConfig } from "../../media/aac/config.ts";
import { MediaError } from "../../media/access-unit.ts";
import { splitLengths } from "../../media/h264/nal.ts";
import { readAvcConfig } from "../../media/h264/sps.ts";
import { readAudio, readVideo } from "../../media/rtmp/flv.ts";
import { MESSAGE, type Message } from "../../media/rtmp/message.ts";
import type { Intake } from "../intake.ts";
import { WrappingClock } from "./wrapping-clock.ts";

/** The publisher sends what we cannot take. The message tells it what to change. */
export class WrongCodec extends Error {}

export class Publishing {
  /** Told once, with the reason: there are pictures, but no sound. */
  onSoundLeftOut: (reason: string) => void = () => {};
  readonly #intake: Intake;
  readonly #clock = new WrappingClock();
  #lengthSize: number | null = null;
  #hasLeftOut = false;

  constructor(intake: Intake) {
    this.#intake = intake;
  }

  /** Throws `WrongCodec`, and what the intake throws. */
  take(message: Message): void {
    if (message.type === MESSAGE.video) this.#takeVideo(message);
    else if (message.type === MESSAGE.audio) this.#takeAudio(message);
  }

  #takeVideo({ body, timestamp }: Message): void {
    const video = readVideo(body);
    if (video.kind === "unsupported") {
      throw new WrongCodec(`H.264 is expected, ${video.codec} came: set the encoder to H.264`);
    }
    const dtsMs = this.#clock.extend(timestamp);
    if (video.kind === "config") {
      const { parameterSets, lengthSize } = readAvcConfig(video.config);
      this.#lengthSize = lengthSize;
      this.#intake.setVideo(...parameterSets);
    }
    // Before its configuration nothing can be told apart.
    if (video.kind !== "picture" || this.#lengthSize === null) return;
    this.#intake.picture({
      ptsUs: (dtsMs + video.compositionMs) * 1000,
      dtsUs: dtsMs * 1000,
      captureMs: null,
      nals: splitLengths(video.nals, this.#lengthSize),
    });
  }

  #takeAudio({ body, timestamp }: Message): void {
    const audio = readAudio(body);
    const ptsUs = this.#clock.extend(timestamp) * 1000;
    if (audio.kind === "config") this.#setAudio(audio.config);
    else if (audio.kind === "frame") this.#intake.sound({ ptsUs, captureMs: null, frame: audio.frame });
    else if (audio.kind === "unsupported") this.#leaveOut(`AAC is expected, ${audio.codec} came`);
  }

  #setAudio(config: Uint8Array): void {
    try {
      this.#intake.setAudio({ codec: "aac", config, ...readAudioConfig(config) });
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      this.#intake.setAudio(null);
      this.#leaveOut(error.message);
    }
  }

  #leaveOut(reason: string): void {
    if (this.#hasLeftOut) return;
    this.#hasLeftOut = true;
    this.onSoundLeftOut(reason);
  }
}
