import type { KlvCarriage, Tracks } from "../../media/access-unit.ts";
import { TsMuxer } from "../../media/mpegts/muxer.ts";
import { TS_BYTES } from "../../media/mpegts/packet.ts";
import { readTransportTarget } from "../../schemas/transport-target.ts";
import { openUdp } from "../cot/links.ts";
import { EventOutlet, OUTLET_LIMITS } from "../cot/outlet.ts";
import type { Frame, FrameFormat, Handler, Services } from "../element.ts";
import { OutputReports } from "../output-reports.ts";
import { AccessUnits } from "../publish/access-units.ts";
import { describeFrame } from "./metadata.ts";

export interface MpegtsProperties {
  readonly url: string;
  readonly address: string | null;
  readonly metadata: KlvCarriage | "none";
}

/** Packets per datagram: fits into one frame of any network. */
const DATAGRAM_BYTES = 7 * TS_BYTES;

/** Sends access units with the metadata of their frames. Frames never wait for the network. */
export class MpegtsHandler implements Pick<Handler, "format" | "process" | "flush" | "close"> {
  readonly #properties: MpegtsProperties;
  readonly #reports: OutputReports;
  readonly #outlet: EventOutlet;
  readonly #units = new AccessUnits();
  #muxer: TsMuxer | null = null;
  #tracks: Tracks | null = null;
  #framesSent = 0;
  #framesDropped = 0;

  /** Throws for an invalid URL. */
  constructor(properties: MpegtsProperties, services: Services, limits = OUTLET_LIMITS) {
    const target = readTransportTarget(properties.url);
    if (typeof target === "string") throw new Error(`the url of mpegts ${target}`);
    this.#properties = properties;
    this.#reports = new OutputReports(
      services,
      { offline: "MPEG-TS output offline", live: "MPEG-TS output live" },
      () => ({
        ...{ status: this.#outlet.status, detail: this.#outlet.detail },
        ...{ framesSent: this.#framesSent, framesDropped: this.#framesDropped },
      }),
    );
    this.#outlet = new EventOutlet(openUdp(target, properties.address), () => this.#reports.onStatus(), limits);
    this.#reports.report();
  }

  format({ caps }: FrameFormat): void {
    this.#units.setFormat(caps);
  }

  /** Never blocks. */
  process(frame: Frame): void {
    const made = this.#units.make(frame.copy(), frame.ptsNs, frame.captureNs);
    if (made === null || this.#outlet.status !== "live") this.#framesDropped++;
    else {
      const { width, height } = made.tracks.video;
      const klv =
        this.#properties.metadata === "none" ? null : describeFrame(frame.captureNs, frame.meta, { width, height });
      const unit = klv === null ? made.unit : { ...made.unit, klv: [{ ptsUs: made.unit.ptsUs, data: klv }] };
      const packets = this.#muxerFor(made.tracks).write(unit);
      for (let at = 0; at < packets.length; at += DATAGRAM_BYTES)
        this.#outlet.send({ topic: "", payload: packets.subarray(at, at + DATAGRAM_BYTES) });
      this.#framesSent++;
    }
    this.#reports.tick();
  }

  #muxerFor(tracks: Tracks): TsMuxer {
    const { metadata } = this.#properties;
    const sent = metadata === "none" ? tracks : { ...tracks, klv: metadata };
    if (this.#muxer === null) this.#muxer = new TsMuxer(sent);
    else if (tracks !== this.#tracks) this.#muxer.setTracks(sent);
    this.#tracks = tracks;
    return this.#muxer;
  }

  flush(): void {
    this.#units.expectKey();
  }

  async close(): Promise<void> {
    await this.#outlet.close();
    this.#reports.report();
  }
}
