/**
 * The telemetry of one process: its channel from the start to the end, and from there one way to those who follow
 * `drone_data` and to the runner. Nothing of it can end the process or make it wait.
 */
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { type Reading, TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import { createFormat } from "../../telemetry/formats.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { Announcer } from "./announcer.ts";
import type { IncomingMessage, TelemetryChannel } from "./channel.ts";
import { openChannel } from "./channels.ts";
import { Courier } from "./courier.ts";
import { type TelemetryNumbers, TelemetryStanding } from "./standing.ts";
import { Thinner } from "./thinner.ts";

export interface ProcessTelemetryNeeds {
  readonly setting: TelemetrySetting;
  /** What messages call the graph. */
  readonly graph: string;
  readonly config: Pick<Config, "telemetry" | "network">;
  /** To the elements of the runner. Resolves with how many took it. */
  deliver(sample: TelemetrySample): Promise<unknown>;
  /** To those who follow `drone_data`. */
  publish(message: JsonRecord): void;
  /** Its standing is another than before. */
  announce(info: TelemetryInfo): void;
}

/** Whether there is a runner to bring something to. */
export type RunnerState = "running" | "paused" | "gone";

export class ProcessTelemetry {
  readonly #needs: ProcessTelemetryNeeds;
  readonly #format: TelemetryFormat;
  readonly #channel: TelemetryChannel;
  readonly #thinner: Thinner<IncomingMessage>;
  readonly #courier: Courier;
  readonly #standing: TelemetryStanding;
  readonly #announcer: Announcer;
  readonly #staleTimer: NodeJS.Timeout;
  #lasting: JsonRecord | null = null;
  #isClosed = false;

  /** Its channel is opened, which takes as long as it takes. */
  constructor(needs: ProcessTelemetryNeeds) {
    const { setting, config, graph } = needs;
    const { type, format, parameters } = setting;
    const { messages_per_second: perSecond, stale_seconds } = config.telemetry;
    const staleMs = stale_seconds * 1000;
    this.#needs = needs;
    this.#format = createFormat(format, parameters);
    const standing = new TelemetryStanding({ isStatic: type === "static", staleMs, graph });
    this.#standing = standing;
    this.#announcer = new Announcer(
      () => standing.standing,
      () => needs.announce(standing.info),
    );
    this.#courier = new Courier({
      deliver: (sample) => needs.deliver(sample),
      onListeners: (count) => this.#note(() => (standing.listeners = count)),
      onLost: () => {
        standing.thinned += 1;
      },
    });
    this.#thinner = new Thinner({
      perSecond,
      pass: (message) => this.#use(message),
      drop: (message) => this.#drop(message),
    });
    // A moment later, so that it is stale by then.
    this.#staleTimer = setTimeout(() => this.#announcer.look(), staleMs + 1);
    this.#channel = openChannel(type, {
      ...{ parameters, config },
      take: (message) => this.#take(message),
      refuse: (reason) => this.#refuse(reason),
      tell: (trouble) => this.#note(() => (standing.trouble = trouble)),
    });
    standing.advice = this.#channel.advice;
    this.#announcer.begin();
  }

  get info(): TelemetryInfo {
    return this.#standing.info;
  }

  get numbers(): TelemetryNumbers {
    return this.#standing.numbers;
  }

  /** What whoever follows `drone_data` from now on has missed and will not hear again. */
  get lasting(): JsonRecord | null {
    return this.#lasting;
  }

  /** Rejects where no client may bring messages. */
  expectReceiver(): (message: IncomingMessage) => void {
    const { receive } = this.#channel;
    if (receive === undefined) throw refuseSocket(this.#needs.setting.type);
    return receive;
  }

  /** A runner that is gone leaves nothing: the next one is told the last samples again. */
  noteRunner(state: RunnerState): void {
    if (state === "running") this.#courier.open();
    else if (state === "paused") this.#courier.pause();
    else {
      this.#courier.forgetRunner();
      this.#note(() => this.#standing.forgetRunner());
    }
  }

  /** What an element of the runner tells. */
  hear(event: JsonRecord): void {
    this.#note(() => this.#standing.hear(event));
  }

  close(): void {
    this.#isClosed = true;
    this.#channel.close();
    this.#thinner.close();
    this.#announcer.close();
    clearTimeout(this.#staleTimer);
  }

  #take(message: IncomingMessage): void {
    if (this.#isClosed) return;
    this.#standing.received += 1;
    this.#thinner.put(message);
  }

  #use(message: IncomingMessage): void {
    const { isKept = false } = message;
    const reading = this.#read(message);
    // It says where the drone was once: for those who look, and for nothing that is placed now.
    if (reading !== null && isKept) this.#needs.publish(reading.native);
    else if (reading !== null) {
      const { sample, native, lack } = reading;
      const { isLasting = false } = message;
      this.#standing.noteUse(lack);
      // Not stale for so long again.
      this.#staleTimer.refresh();
      if (isLasting) this.#lasting = native;
      this.#needs.publish(native);
      this.#courier.put(isLasting ? { ...sample, timeMs: null } : sample);
    }
    this.#announcer.look();
  }

  /** Null when it cannot be read: whatever trips a format is the fault of the message, and of no other. */
  #read(message: IncomingMessage): Reading | null {
    const { format, parameters } = this.#needs.setting;
    // What follows must not be completed by it.
    const reader = message.isKept === true ? createFormat(format, parameters) : this.#format;
    try {
      return reader.read(message.payload, Date.now());
    } catch (error) {
      this.#standing.refused += 1;
      this.#standing.refusal = describeFault(error);
      message.refuse?.(error as Error);
      return null;
    }
  }

  #drop(message: IncomingMessage): void {
    this.#standing.thinned += 1;
    const { messages_per_second: most } = this.#needs.config.telemetry;
    message.refuse?.(
      new ServiceError("rate_limited", {
        detail: `At most ${most} messages a second are used, the newest; this one is not.`,
      }),
    );
  }

  /** It was not even read. */
  #refuse(reason: string): void {
    if (this.#isClosed) return;
    this.#standing.received += 1;
    this.#standing.refused += 1;
    this.#note(() => (this.#standing.refusal = reason));
  }

  #note(change: () => void): void {
    if (this.#isClosed) return;
    change();
    this.#announcer.look();
  }
}

function describeFault(error: unknown): string {
  if (!(error instanceof TelemetryFault)) return "it has not the form of a message";
  return [error.message, ...error.faults.map(({ path, message }) => `${path} ${message}`)].join("; ");
}

/**
 * Said before the socket opens and not to each message: most of those who send telemetry read nothing, but every client
 * notices a connection that it does not get.
 */
const refuseSocket = (type: TelemetrySetting["type"]): ServiceError =>
  new ServiceError("telemetry_not_taken", {
    detail: `The telemetry of this source comes by "${type}". Set its telemetry_cfg to the type "websocket" (PATCH /source/{source_id}) and start the process again.`,
  });

/** The same of a source that has no telemetry. */
export const refuseTelemetry = (): ServiceError =>
  new ServiceError("telemetry_not_taken", {
    detail:
      'The source of this process has no telemetry_cfg, so none is used. Give it one of the type "websocket" (PATCH /source/{source_id}) and start the process again.',
  });
