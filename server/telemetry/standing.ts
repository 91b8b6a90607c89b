/** What is known of the telemetry of one process, as clients see it. */
import { type Static, Type } from "typebox";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { checkBy } from "../validation.ts";

export type Standing = Pick<TelemetryInfo, "state" | "detail" | "geolocation">;

/** What elements tell of it. */
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
  /** They came too fast, for us or for the runner. */
  readonly thinned: number;
  /** Since the last message came in; null: none has. */
  readonly ageMs: number | null;
}

export interface StandingParts {
  readonly isStatic: boolean;
  readonly staleMs: number;
  readonly graph: string;
}

/** What a message lacks can be long: it names fields. */
const MOST_CHARACTERS = 500;

export class TelemetryStanding {
  received = 0;
  refused = 0;
  thinned = 0;
  /** What to do while nothing has come. */
  advice = "";
  /** Why nothing can come. */
  trouble: string | null = null;
  /** Why the last message was not read; null when it was. */
  refusal: string | null = null;
  /** What the last message lacks. */
  lack: string | null = null;
  /** How many elements take what comes; null while that is not known. */
  listeners: number | null = null;
  readonly #parts: StandingParts;
  #usedMs: number | null = null;
  #geolocation: Pick<TelemetryInfo, "geolocation" | "offset_ms"> = UNPLACED;
  #reason: string | null = null;

  constructor(parts: StandingParts) {
    this.#parts = parts;
  }

  /** A message was read. */
  noteUse(lack: string | null): void {
    this.#usedMs = performance.now();
    this.refusal = null;
    this.lack = lack;
  }

  /** An element's word. Others than those of geolocation are none of ours. */
  hear(event: JsonRecord): void {
    if (checkEvent(event).length > 0) return;
    const { mode, reason, offsetMs } = event as Static<typeof GeolocationEvent>;
    this.#geolocation = { geolocation: mode, offset_ms: offsetMs };
    this.#reason = reason;
  }

  /** What elements told was of a runner that is gone. */
  forgetRunner(): void {
    this.#geolocation = UNPLACED;
    this.#reason = null;
    this.listeners = null;
  }

  get numbers(): TelemetryNumbers {
    const { received, refused, thinned } = this;
    return { received, refused, thinned, ageMs: this.#ageMs };
  }

  /** Without its numbers: what is worth telling when it changes. */
  get standing(): Standing {
    const state = this.#state;
    const detail = this.#describe(state);
    const { geolocation } = this.#geolocation;
    return { state, detail: detail === null ? null : maskCredentials(detail).slice(0, MOST_CHARACTERS), geolocation };
  }

  get info(): TelemetryInfo {
    const { received, refused } = this;
    return {
      ...this.standing,
      ...this.#geolocation,
      age_ms: this.#ageMs,
      messages_received: received,
      messages_refused: refused,
    };
  }

  get #ageMs(): number | null {
    return this.#usedMs === null || this.#parts.isStatic ? null : Math.round(performance.now() - this.#usedMs);
  }

  get #state(): TelemetryInfo["state"] {
    if (this.#parts.isStatic) return "static";
    if (this.trouble !== null) return "connecting";
    const ageMs = this.#ageMs;
    if (ageMs === null) return "waiting";
    return ageMs < this.#parts.staleMs ? "receiving" : "stale";
  }

  #describe(state: TelemetryInfo["state"]): string | null {
    const { staleMs, graph } = this.#parts;
    if (this.trouble !== null) return this.trouble;
    if (this.refusal !== null) return `The last message could not be read: ${this.refusal}`;
    if (state === "waiting") return this.advice;
    if (state === "stale") return `nothing has come for more than ${staleMs / 1000} s; see whether it is still sent`;
    if (this.listeners === 0)
      return `the graph "${graph}" has no element that uses telemetry; drone_data has it all the same`;
    return this.lack ?? this.#reason;
  }
}

const UNPLACED = { geolocation: "none", offset_ms: null } as const;
