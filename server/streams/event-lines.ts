/** Server-sent events of a process, for one viewer. */
import type { StateEvent, StatsEvent, TelemetryEvent } from "../../schemas/api/events.ts";
import { CAMERA_CHANNEL } from "../../schemas/camera-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { ProcessCrash, ProcessError, ProcessNotice, ProcessState } from "../processes/processes.ts";
import { describeCrash } from "../processes/view.ts";
import { type Chunks, Wake } from "./body.ts";
import { MessageQueue, type QueuedMessage, serialise } from "./message-queue.ts";
import type { StreamLimits } from "./socket-client.ts";

type EventName = "detections" | "drone" | "camera" | "state" | "stats" | "telemetry" | "alert";

interface QueuedEvent extends QueuedMessage {
  readonly event: EventName;
}

/** Channels of messages, and the names of their events. */
const CHANNELS: Readonly<Record<string, EventName>> = {
  detection_data: "detections",
  drone_data: "drone",
  [CAMERA_CHANNEL]: "camera",
};
/** Reconnection delay of browsers. */
const RETRY_MS = 2000;
const COMMENT = Buffer.from(": still here\n\n");

type Stats = Extract<ProcessNotice, { type: "stats" }>;

interface Status {
  readonly state: ProcessState;
  readonly error: ProcessError | null;
  readonly reconnecting: boolean;
  readonly restarting: boolean;
  readonly lastError: ProcessCrash | null;
}

let lastId = 0;
/** Increasing, also over restarts of the service: about microseconds, within the safe integers. */
function nextId(): number {
  lastId = Math.max(lastId + 1, Date.now() * 1000);
  return lastId;
}

export class EventLines implements Chunks {
  readonly #processUuid: string;
  readonly #isOperator: boolean;
  readonly #queue: MessageQueue<QueuedEvent>;
  readonly #leave: () => void;
  readonly #wake = new Wake();
  readonly #timer: NodeJS.Timeout;
  #isDue = false;
  #hasEnded = false;
  #hasBegun = false;
  #status: Status | null = null;

  /** `isOperator`: includes where in the sources an element threw. */
  constructor(processUuid: string, isOperator: boolean, limits: StreamLimits, leave: () => void) {
    this.#processUuid = processUuid;
    this.#isOperator = isOperator;
    this.#queue = new MessageQueue({ messages: limits.queuedMessages, bytes: limits.queuedBytes });
    this.#leave = leave;
    this.#timer = setInterval(() => {
      this.#isDue = true;
      this.#wake.ring();
    }, limits.pingSeconds * 1000);
  }

  handle(notice: ProcessNotice): void {
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
        const { state, error, lastError = this.#status?.lastError ?? null } = notice;
        const reconnecting = this.#status?.reconnecting ?? false;
        this.#putState({ state, error, reconnecting, restarting: false, lastError });
        return;
      }
      case "reconnecting": {
        const { reconnecting } = notice;
        if (this.#status !== null) this.#putState({ ...this.#status, reconnecting });
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
        if (this.#status !== null && lastError !== null)
          this.#putState({ ...this.#status, restarting: true, lastError });
        return;
      }
      case "ended":
        this.end();
        return;
    }
  }

  /** After the queued events. */
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
      const next = this.#queue.take();
      if (next !== null) {
        this.#isDue = false;
        return Buffer.from(`event: ${next.message.event}\nid: ${nextId()}\ndata: ${next.json}\n\n`);
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
    this.#queue.clear();
    this.end();
  }

  #put(event: EventName, message: JsonRecord): void {
    if (this.#hasEnded) return;
    this.#queue.put({ ...serialise(message), event, isKept: event === "state" || event === "alert" });
    this.#wake.ring();
  }

  #putState(status: Status): void {
    this.#status = status;
    const { state, reconnecting, error, restarting, lastError } = status;
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
