/** The telemetry status of one process, as clients see it, and the announcement of its changes. */
import { type Static, Type } from "typebox";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { checkBy } from "../validation.ts";

const GeolocationEvent = Type.Object({
  type: Type.Literal("geolocation"),
  mode: Type.Union([Type.Literal("full"), Type.Literal("reduced"), Type.Literal("none")]),
  reason: Type.Union([Type.String(), Type.Null()]),
  offsetMs: Type.Union([Type.Number(), Type.Null()]),
});
const checkEvent = checkBy(GeolocationEvent);

export interface TelemetryNumbers {
  readonly received: number;
  readonly refused: number;
  /** Dropped because they arrived faster than the limit, or than the runner accepts. */
  readonly thinned: number;
  /** Since the last message; null: none has arrived. */
  readonly ageMs: number | null;
}

/** A list of missing fields can be long. */
const MAX_DETAIL_CHARACTERS = 500;
const ANNOUNCE_EVERY_MS = 1_000;
const NO_GEOLOCATION = { geolocation: "none", offset_ms: null } as const;

export interface TelemetryStatusOptions {
  readonly isStatic: boolean;
  readonly staleMs: number;
  /** The name of the graph. */
  readonly graph: string;
  announce(info: TelemetryInfo): void;
}

export class TelemetryStatus {
  received = 0;
  refused = 0;
  thinned = 0;
  /** Why no messages can arrive. */
  trouble: string | null = null;
  /** Why the last message was rejected; null when it was used. */
  rejection: string | null = null;
  /** How many elements receive samples; null while that is unknown. */
  listeners: number | null = null;
  readonly #options: TelemetryStatusOptions;
  /** What to check while no message has arrived. */
  #advice = "";
  /** What the last message lacks. */
  #lack: string | null = null;
  #usedMs: number | null = null;
  #geolocation: Pick<TelemetryInfo, "geolocation" | "offset_ms"> = NO_GEOLOCATION;
  #reason: string | null = null;
  /** The summary that was announced last; null while changes are not announced. */
  #announced: string | null = null;
  #announcedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  readonly #staleTimer: NodeJS.Timeout;

  constructor(options: TelemetryStatusOptions) {
    this.#options = options;
    // One millisecond later, so that it is stale by then.
    this.#staleTimer = setTimeout(() => this.check(), options.staleMs + 1);
  }

  /** The channel is open: announces changes from now on. */
  start(advice: string): void {
    this.#advice = advice;
    this.#announced = JSON.stringify(this.summary);
  }

  /** Announces a change, at most once a second: a bad message between good ones is not news. */
  check(): void {
    const summary = JSON.stringify(this.summary);
    if (this.#announced === null || this.#timer !== undefined || summary === this.#announced) return;
    const waitMs = this.#announcedMs + ANNOUNCE_EVERY_MS - performance.now();
    if (waitMs > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.check();
      }, waitMs);
      return;
    }
    this.#announced = summary;
    this.#announcedMs = performance.now();
    this.#options.announce(this.info);
  }

  close(): void {
    this.#announced = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#staleTimer);
  }

  noteUse(lack: string | null): void {
    this.#usedMs = performance.now();
    this.#staleTimer.refresh();
    this.rejection = null;
    this.#lack = lack;
  }

  /** Ignores events of elements that are not about geolocation. */
  handleEvent(event: JsonRecord): void {
    if (checkEvent(event).length > 0) return;
    const { mode, reason, offsetMs } = event as Static<typeof GeolocationEvent>;
    this.#geolocation = { geolocation: mode, offset_ms: offsetMs };
    this.#reason = reason;
  }

  forgetRunner(): void {
    this.#geolocation = NO_GEOLOCATION;
    this.#reason = null;
    this.listeners = null;
  }

  get numbers(): TelemetryNumbers {
    const { received, refused, thinned } = this;
    return { received, refused, thinned, ageMs: this.#ageMs };
  }

  /** Without the counters: the part whose changes are announced. */
  get summary(): Pick<TelemetryInfo, "state" | "detail" | "geolocation"> {
    const state = this.#state;
    const detail = this.#describe(state);
    const { geolocation } = this.#geolocation;
    const shown = detail === null ? null : maskCredentials(detail).slice(0, MAX_DETAIL_CHARACTERS);
    return { state, detail: shown, geolocation };
  }

  get info(): TelemetryInfo {
    const { received, refused } = this;
    return {
      ...this.summary,
      ...this.#geolocation,
      ...{ age_ms: this.#ageMs, messages_received: received, messages_refused: refused },
    };
  }

  get #ageMs(): number | null {
    return this.#usedMs === null || this.#options.isStatic ? null : Math.round(performance.now() - this.#usedMs);
  }

  get #state(): TelemetryInfo["state"] {
    if (this.#options.isStatic) return "static";
    if (this.trouble !== null) return "connecting";
    const ageMs = this.#ageMs;
    if (ageMs === null) return "waiting";
    return ageMs < this.#options.staleMs ? "receiving" : "stale";
  }

  #describe(state: TelemetryInfo["state"]): string | null {
    const { staleMs, graph } = this.#options;
    if (this.trouble !== null) return this.trouble;
    if (this.rejection !== null) return `The last message was rejected: ${this.rejection}`;
    if (state === "waiting") return this.#advice;
    if (state === "stale") return `no message for more than ${staleMs / 1000} s; check that the sender is running`;
    if (this.listeners === 0)
      return `the graph "${graph}" has no element that uses telemetry; it is only published on drone_data`;
    return this.#lack ?? this.#reason;
  }
}
