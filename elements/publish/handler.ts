/** Publishes access units to an RTSP, RTMP or SRT server: connects when there is video to send, reconnects with backoff. */

import { readRtmpAddress } from "../../media/rtmp/client.ts";
import { publishRtmp } from "../../media/rtmp/publisher.ts";
import { readRtspAddress } from "../../media/rtsp/client.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import { AccessUnits } from "../access-units.ts";
import type { Frame, FrameFormat, Handler, Services } from "../element.ts";
import { OutputReports } from "../output-reports.ts";
import { type OpenPublisher, srtOpenerOf, VideoOutlet } from "../video-outlet.ts";

interface PublishProperties {
  readonly url: string;
  readonly address: string | null;
}

export class PublishHandler implements Pick<Handler, "format" | "process" | "flush" | "close"> {
  readonly #reports: OutputReports;
  readonly #outlet: VideoOutlet;
  readonly #units = new AccessUnits();
  /** Dropped while waiting for a keyframe. */
  #framesSkipped = 0;

  /** Throws for an invalid URL. */
  constructor(properties: PublishProperties, services: Services) {
    this.#reports = new OutputReports(services, { offline: "publishing failed, retrying", live: "publishing" }, () => ({
      status: this.#outlet.status,
      detail: this.#outlet.detail,
      framesSent: this.#outlet.framesSent,
      framesDropped: this.#outlet.framesDropped + this.#framesSkipped,
    }));
    this.#outlet = new VideoOutlet(openerOf(properties), () => this.#reports.onStatus());
    this.#reports.report();
  }

  format({ caps }: FrameFormat): void {
    this.#units.setFormat(caps);
  }

  /** Never blocks. */
  process(frame: Frame): void {
    // A queue before it was full: the pictures that follow depend on lost ones.
    if (frame.discontinuity) this.#units.expectKey();
    const made = this.#units.make(frame.copy(), frame.ptsNs, frame.captureNs);
    if (made === null) this.#framesSkipped++;
    else this.#outlet.send(made.unit, made.tracks);
    this.#reports.tick();
  }

  flush(): void {
    this.#units.expectKey();
  }

  async close(): Promise<void> {
    await this.#outlet.close();
    this.#reports.report();
  }
}

function openerOf({ url, address }: PublishProperties): OpenPublisher {
  if (url.startsWith("srt:")) return srtOpenerOf(url, address);
  const isRtsp = url.startsWith("rtsp:");
  if (isRtsp) readRtspAddress(url);
  else readRtmpAddress(url);
  const publish = isRtsp ? publishRtsp : publishRtmp;
  return (tracks, signal) => publish(url, tracks, { signal, ...(address !== null && { host: address }) });
}
