/** Server-sent events of a process, for one viewer. */
import type { StateEvent, StatsEvent, TelemetryEvent } from "../../schemas/api/events.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProcessCrash, ProcessError, ProcessNotice, ProcessState } from "../processes/processes.ts";
import { describeCrash } from "../processes/view.ts";
import type { Pieces } from "./body.ts";
import { writeLetter } from "./letters.ts";
import { type Letter, Outbox } from "./outbox.ts";
import { Wake } from "./wake.ts";

export type EventName = "detections" | "drone" | "state" | "stats" | "telemetry" | "alert";

interface EventLetter extends Letter {
  readonly event: EventName;
}

/** Channels of messages that are told, and as what. */
const CHANNELS: Readonly<Record<string, EventName>> = { detection_data: "detections", drone_data: "drone" };
/** A browser that has lost the connection comes back after so long. */
const RETRY_MS = 2000;
const COMMENT = Buffer.from(": still here\n\n");

type Stats = Extract<ProcessNotice, { type: "stats" }>;

interface Standing {
  readonly state: ProcessState;
  readonly error: ProcessError | null;
  readonly reconnecting: boolean;
  readonly restarting: boolean;
  readonly lastError: ProcessCrash | null;
}

let lastId = 0;
/** Rises, also over a restart of the service. Microseconds, more or less: a whole number that JavaScript can hold. */
function nextId(): number {
  lastId = Math.max(lastId + 1, Date.now() * 1000);
  return lastId;
}

export class EventLines implements Pieces {
  readonly #processUuid: string;
  readonly #isOperator: boolean;
  readonly #outbox: Outbox<EventLetter>;
  readonly #leave: () => void;
  readonly #wake = new Wake();
  readonly #timer: NodeJS.Timeout;
  #isDue = false;
  #hasEnded = false;
  #hasBegun = false;
  #standing: Standing | null = null;

  /** `isOperator`: whether the viewer may see where in the sources an element threw. */
  constructor(processUuid: string, isOperator: boolean, config: Config["streams"], leave: () => void) {
    this.#processUuid = processUuid;
    this.#isOperator = isOperator;
    this.#outbox = new Outbox({ messages: config.queued_messages, bytes: config.queued_bytes });
    this.#leave = leave;
    this.#timer = setInterval(() => {
      this.#isDue = true;
      this.#wake.ring();
    }, config.ping_seconds * 1000);
  }

  hear(notice: ProcessNotice): void {
    switch (notice.type) {
      case "message": {
        const event = CHANNELS[notice.channel];
        if (event !== undefined) this.#put(event, notice.message);
        return;
      }
      case "stats":
        this.#put("stats", this.#describeStats(notice));
        return;
      case "state": {
        const { state, error, lastError = this.#standing?.lastError ?? null } = notice;
        const reconnecting = this.#standing?.reconnecting ?? false;
        this.#tellState({ state, error, reconnecting, restarting: false, lastError });
        return;
      }
      case "reconnecting": {
        const { reconnecting } = notice;
        if (this.#standing !== null) this.#tellState({ ...this.#standing, reconnecting });
        return;
      }
      case "telemetry": {
        const { telemetry } = notice;
        const timestamp = new Date().toISOString();
        const event: TelemetryEvent = { process_uuid: this.#processUuid, timestamp, telemetry };
        this.#put("telemetry", event);
        return;
      }
      case "alert":
        this.#put("alert", notice.notice as JsonRecord);
        return;
      case "restarting": {
        const { crash: lastError = null } = notice;
        if (this.#standing !== null && lastError !== null)
          this.#tellState({ ...this.#standing, restarting: true, lastError });
        return;
      }
      case "ended":
        this.end();
        return;
    }
  }

  /** After what waits. */
  end(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
    this.#wake.ring();
  }

  async next(): Promise<Uint8Array | null> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return Buffer.from(`retry: ${RETRY_MS}\n\n`);
    }
    for (;;) {
      const next = this.#outbox.take();
      if (next !== null) {
        this.#isDue = false;
        return Buffer.from(`event: ${next.letter.event}\nid: ${nextId()}\ndata: ${next.json}\n\n`);
      }
      if (this.#hasEnded) return null;
      if (this.#isDue) {
        this.#isDue = false;
        return COMMENT;
      }
      await this.#wake.wait();
    }
  }

  leave(): void {
    this.#leave();
    this.#outbox.clear();
    this.end();
  }

  #put(event: EventName, message: JsonRecord): void {
    if (this.#hasEnded) return;
    this.#outbox.put({ ...writeLetter(message), event, isKept: event === "state" || event === "alert" });
    this.#wake.ring();
  }

  #tellState(standing: Standing): void {
    this.#standing = standing;
    const { state, reconnecting, error, restarting, lastError } = standing;
    const event: StateEvent = {
      process_uuid: this.#processUuid,
      timestamp: new Date().toISOString(),
      state,
      reconnecting,
      error: error === null ? null : { code: error.code, detail: error.detail },
      restarting,
      last_error: describeCrash(lastError, this.#isOperator),
    };
    this.#put("state", event);
  }

  #describeStats({ stats }: Stats): StatsEvent {
    const { fps_in, fps_processed, fps_out, frames_dropped, latency_ms, inference_ms, restarts, frames_lost } = stats;
    return {
      process_uuid: this.#processUuid,
      timestamp: new Date().toISOString(),
      stats: { fps_in, fps_processed, fps_out, frames_dropped, latency_ms, inference_ms, restarts, frames_lost },
    };
  }
}
