import { publishRtmp } from "../../media/rtmp/publisher.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import type { Tracks } from "../../media/unit.ts";
import type { Frame, Handler, Services } from "../element.ts";
import { Outlet, type Publisher } from "./outlet.ts";
import { UnitMaker } from "./unit-maker.ts";

interface PublishProperties {
  readonly url: string;
  readonly address: string | null;
}

const REPORT_EVERY_MS = 1000;

export class PublishHandler implements Pick<Handler, "process" | "flush" | "close"> {
  readonly #services: Services;
  readonly #outlet: Outlet;
  readonly #units = new UnitMaker();
  #reportedAtMs = 0;

  constructor(properties: PublishProperties, services: Services) {
    this.#services = services;
    this.#outlet = new Outlet(
      (tracks) => openPublisher(properties, tracks),
      (detail) => {
        if (detail !== null) services.log.warn(`nothing can be published now: ${detail}`);
        this.#report();
      },
    );
    this.#report();
  }

  /** Never waits. */
  process(frame: Frame): void {
    const made = this.#units.make(frame.copy(), frame.ptsNs, frame.captureNs);
    if (made !== null) this.#outlet.send(made.unit, made.tracks);
    if (performance.now() - this.#reportedAtMs >= REPORT_EVERY_MS) this.#report();
  }

  flush(): void {
    this.#units.expectKey();
  }

  close(): Promise<void> {
    return this.#outlet.close();
  }

  #report(): void {
    this.#reportedAtMs = performance.now();
    const { status, detail, framesSent, framesDropped } = this.#outlet;
    this.#services.emit({ type: "output", status, detail, framesSent, framesDropped });
  }
}

function openPublisher({ url, address }: PublishProperties, tracks: Tracks): Promise<Publisher> {
  const publish = url.startsWith("rtsp:") ? publishRtsp : publishRtmp;
  return publish(url, tracks, address === null ? {} : { host: address });
}
