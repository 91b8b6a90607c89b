/** The metadata that a live source has received, for the access units that it belongs to. */
import type { KlvCarriage, Tracks } from "../../media/access-unit.ts";
import { KLV_CHANNEL, type KlvMessage } from "../../schemas/telemetry.ts";
import type { Services } from "../element.ts";
import type { MadeUnit } from "../outlet-handler.ts";

/** Some seconds; the oldest are dropped while no video arrives. */
const MAX_UNITS = 256;

export class KlvUnits {
  readonly #stop: () => void;
  #pending: KlvMessage[] = [];
  #carriage: KlvCarriage | null = null;
  #lastUs = -1;
  #made: Tracks | null = null;
  #extended: Tracks | null = null;

  constructor(services: Pick<Services, "listen">) {
    this.#stop = services.listen(KLV_CHANNEL, (message) => {
      const unit = message as unknown as KlvMessage;
      this.#carriage ??= unit.isSynchronous ? "synchronous" : "asynchronous";
      this.#pending.push(unit);
      if (this.#pending.length > MAX_UNITS) this.#pending.shift();
    });
  }

  /** Adds what has arrived since the unit before. A stream gets its metadata track at a keyframe, in a new connection. */
  extend({ unit, tracks }: MadeUnit): MadeUnit {
    if (tracks !== this.#made || (unit.isKey && this.#extended === null)) {
      this.#made = tracks;
      this.#extended = this.#carriage === null ? null : { ...tracks, klv: this.#carriage };
      this.#lastUs = -1;
    }
    const pending = this.#pending;
    if (this.#extended === null) return { unit, tracks };
    this.#pending = [];
    const klv = pending.flatMap(({ captureMs, data }) => {
      const ptsUs = Math.round(unit.ptsUs + (captureMs - unit.captureMs) * 1000);
      if (ptsUs < 0) return []; // from before the first frame
      // Reports of a camera correct its clock, also backwards: units stay in their order.
      this.#lastUs = Math.max(ptsUs, this.#lastUs + 1);
      return [{ ptsUs: this.#lastUs, data: Buffer.from(data, "base64") }];
    });
    return { unit: { ...unit, klv }, tracks: this.#extended };
  }

  close(): void {
    this.#stop();
  }
}
