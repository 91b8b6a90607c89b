import { readRtmpAddress } from "../../media/rtmp/client.ts";
import { publishRtmp } from "../../media/rtmp/publisher.ts";
import { readRtspAddress } from "../../media/rtsp/client.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { type OpenPublisher, Outlet } from "./outlet.ts";
import { UnitMaker } from "./unit-maker.ts";

interface PublishProperties {
  readonly url: string;
  readonly address: string | null;
}

const REPORT_EVERY_MS = 1000;
/** Servers say what they want, at any length. */
const MOST_LETTERS = 300;

export class PublishHandler implements Pick<Handler, "process" | "flush" | "close"> {
  readonly #services: Services;
  readonly #outlet: Outlet;
  readonly #units = new UnitMaker();
  /** Came while a key picture was waited for. */
  #framesLeftOut = 0;
  #reportedAtMs = 0;

  /** Throws for a URL that is none. */
  constructor(properties: PublishProperties, services: Services) {
    this.#services = services;
    this.#outlet = new Outlet(openerOf(properties), () => this.#tellStatus());
    this.#report();
  }

  /** Never waits. */
  process(frame: Frame): void {
    const made = this.#units.make(frame.copy(), frame.ptsNs, frame.captureNs);
    if (made === null) this.#framesLeftOut++;
    else this.#outlet.send(made.unit, made.tracks);
    if (performance.now() - this.#reportedAtMs >= REPORT_EVERY_MS) this.#report();
  }

  flush(): void {
    this.#units.expectKey();
  }

  async close(): Promise<void> {
    await this.#outlet.close();
    this.#report();
  }

  #tellStatus(): void {
    const detail = this.#detail;
    if (detail !== null) this.#services.log.warn(`nothing can be published now: ${detail}`);
    else if (this.#outlet.status === "live") this.#services.log.info("what comes is published");
    this.#report();
  }

  get #detail(): string | null {
    const { detail } = this.#outlet;
    return detail === null ? null : maskCredentials(detail).slice(0, MOST_LETTERS);
  }

  #report(): void {
    this.#reportedAtMs = performance.now();
    const { status, framesSent } = this.#outlet;
    const framesDropped = this.#outlet.framesDropped + this.#framesLeftOut;
    this.#services.emit({ type: "output", status, detail: this.#detail, framesSent, framesDropped });
  }
}

function openerOf({ url, address }: PublishProperties): OpenPublisher {
  const isRtsp = url.startsWith("rtsp:");
  if (isRtsp) readRtspAddress(url);
  else readRtmpAddress(url);
  const publish = isRtsp ? publishRtsp : publishRtmp;
  return (tracks, signal) => publish(url, tracks, { signal, ...(address !== null && { host: address }) });
}
