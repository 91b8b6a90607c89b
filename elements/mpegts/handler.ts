import type { KlvCarriage, Tracks } from "../../media/access-unit.ts";
import { publishUdp } from "../../media/mpegts/udp-publisher.ts";
import { readTransportTarget } from "../../schemas/transport-target.ts";
import { AccessUnits } from "../access-units.ts";
import type { Frame, FrameFormat, Handler, Services } from "../element.ts";
import { OutputReports } from "../output-reports.ts";
import { type OpenPublisher, srtOpenerOf, VideoOutlet } from "../video-outlet.ts";
import { describeFrame } from "./metadata.ts";

export interface MpegtsProperties {
  readonly url: string;
  readonly address: string | null;
  readonly metadata: KlvCarriage | "none";
}

/** Sends access units with the metadata of their frames. Frames never wait for the network. */
export class MpegtsHandler implements Pick<Handler, "format" | "process" | "flush" | "close"> {
  readonly #metadata: MpegtsProperties["metadata"];
  readonly #reports: OutputReports;
  readonly #outlet: VideoOutlet;
  readonly #units = new AccessUnits();
  #made: Tracks | null = null;
  #sent: Tracks | null = null;
  /** Dropped while waiting for a keyframe. */
  #framesSkipped = 0;

  /** Throws for an invalid URL. */
  constructor(properties: MpegtsProperties, services: Services) {
    this.#metadata = properties.metadata;
    const texts = { offline: "MPEG-TS output offline", live: "MPEG-TS output live" };
    this.#reports = new OutputReports(services, texts, () => ({
      ...{ status: this.#outlet.status, detail: this.#outlet.detail, framesSent: this.#outlet.framesSent },
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
    if (frame.discontinuity) this.#units.expectKey();
    const made = this.#units.make(frame.copy(), frame.ptsNs, frame.captureNs);
    if (made === null) this.#framesSkipped++;
    else {
      const { unit, tracks } = made;
      const data = this.#metadata === "none" ? null : describeFrame(frame.captureNs, frame.meta, tracks.video);
      const klv = data === null ? [] : [{ ptsUs: unit.ptsUs, data }];
      this.#outlet.send({ ...unit, klv }, this.#addKlv(tracks));
    }
    this.#reports.tick();
  }

  /** The same for the same tracks: others need a new connection. */
  #addKlv(tracks: Tracks): Tracks {
    if (this.#sent === null || tracks !== this.#made)
      this.#sent = this.#metadata === "none" ? tracks : { ...tracks, klv: this.#metadata };
    this.#made = tracks;
    return this.#sent;
  }

  flush(): void {
    this.#units.expectKey();
  }

  async close(): Promise<void> {
    await this.#outlet.close();
    this.#reports.report();
  }
}

function openerOf({ url, address }: MpegtsProperties): OpenPublisher {
  const target = readTransportTarget(url);
  if (typeof target === "string") throw new Error(`the url of mpegts ${target}`);
  if (target.scheme === "srt") return srtOpenerOf(url, address);
  return (tracks, signal) => publishUdp(target, tracks, { signal, ...(address !== null && { host: address }) });
}
