import type { Places } from "../../schemas/places.ts";
import type { ElementEvent } from "../element.ts";

interface ModeState {
  readonly mode: Places["mode"];
  /** Why it is not `full`. */
  readonly reason: string | null;
  /** Null without telemetry. */
  readonly offsetMs: number | null;
}

const LEAST_INTERVAL_NS = 1_000_000_000n;

/**
 * Tells of what can be said of the frames whenever that changes, at most once a second of the video. Nothing is told
 * before there is telemetry: most graphs run without.
 */
export class ModeNews {
  readonly #emit: (event: ElementEvent) => void;
  #told: ModeState = { mode: "none", reason: null, offsetMs: null };
  #toldNs: bigint | null = null;

  constructor(emit: (event: ElementEvent) => void) {
    this.#emit = emit;
  }

  update(captureNs: bigint, mode: Places["mode"], reason: string | null, offsetMs: number | null): void {
    const roundedMs = offsetMs === null ? null : Math.round(offsetMs) + 0;
    const { mode: wasMode, reason: wasReason, offsetMs: wasOffsetMs } = this.#told;
    if (mode === wasMode && roundedMs === wasOffsetMs && (reason === wasReason || this.#toldNs === null)) return;
    const sinceNs = this.#toldNs === null ? LEAST_INTERVAL_NS : captureNs - this.#toldNs;
    // A time before the last is another run of the video.
    if (sinceNs >= 0n && sinceNs < LEAST_INTERVAL_NS) return;
    this.#toldNs = captureNs;
    this.#told = { mode, reason, offsetMs: roundedMs };
    this.#emit({ type: "geolocation", ...this.#told });
  }
}
