/** Handles the frames of elements that send encoded video: frames never wait for the network. */
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import { AccessUnits } from "./access-units.ts";
import type { Frame, FrameFormat, Handler, Services } from "./element.ts";
import { OutputReports } from "./output-reports.ts";
import { SoundUnits } from "./sound-units.ts";
import { type OpenPublisher, VideoOutlet } from "./video-outlet.ts";

export interface MadeUnit {
  readonly unit: AccessUnit;
  readonly tracks: Tracks;
}

interface OutletOptions {
  readonly open: OpenPublisher;
  /** Logged when the connection is lost and there again. */
  readonly texts: { readonly offline: string; readonly live: string };
  /** Adds metadata. Tracks must stay the same while they do not change: others need a new connection. */
  extend?(made: MadeUnit, frame: Frame): MadeUnit;
  /** Also sends the sound of the source. */
  readonly hasSound?: boolean;
  onClose?(): void;
}

export class OutletHandler implements Pick<Handler, "format" | "process" | "flush" | "close"> {
  readonly #extend: (made: MadeUnit, frame: Frame) => MadeUnit;
  readonly #onClose: () => void;
  readonly #sound: SoundUnits | null;
  readonly #reports: OutputReports;
  readonly #outlet: VideoOutlet;
  readonly #units = new AccessUnits();
  /** Dropped while waiting for a keyframe. */
  #framesSkipped = 0;

  constructor(options: OutletOptions, services: Services) {
    const { open, texts, extend = (made) => made, hasSound = false, onClose = () => {} } = options;
    this.#extend = extend;
    this.#sound = hasSound ? new SoundUnits(services) : null;
    this.#onClose = onClose;
    this.#reports = new OutputReports(services, texts, () => ({
      ...{ status: this.#outlet.status, framesSent: this.#outlet.framesSent },
      detail: this.#outlet.detail ?? this.#sound?.detail ?? null,
      framesDropped: this.#outlet.framesDropped + this.#framesSkipped,
    }));
    this.#outlet = new VideoOutlet(open, () => this.#reports.onStatus());
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
    else {
      const extended = this.#extend(made, frame);
      const joined = this.#sound?.join(extended.unit, extended.tracks);
      const { units = [extended.unit], tracks } = joined ?? { tracks: extended.tracks };
      for (const unit of units) this.#outlet.send(unit, tracks);
    }
    this.#reports.tick();
  }

  flush(): void {
    this.#units.expectKey();
  }

  async close(): Promise<void> {
    this.#onClose();
    this.#sound?.close();
    await this.#outlet.close();
    this.#reports.report();
  }
}
