/**
 * The telemetry of one process, from its channel to the subscribers of `drone_data` and to the runner. Nothing here can end
 * the process or block it.
 */
import { isDeepStrictEqual } from "node:util";
import type { TelemetryInfo } from "../../schemas/api/processes.ts";
import { DroneDataMessage } from "../../schemas/api/telemetry.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { HeadingCalibration, TelemetryBatch, TelemetrySample } from "../../schemas/telemetry.ts";
import { type Reading, TelemetryFault, type TelemetryFormat } from "../../telemetry/format.ts";
import { createFormat, type FormatName } from "../../telemetry/formats.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import { checkBy } from "../validation.ts";
import { type IncomingMessage, LIMITS, openChannel, type TelemetryChannel, type TelemetryLimits } from "./channels.ts";
import { RecordedFeed } from "./recorded-feed.ts";
import { RunnerQueue } from "./runner-queue.ts";
import { type TelemetryNumbers, TelemetryStatus } from "./status.ts";
import type { StoredSamples } from "./stored-samples.ts";
import { Throttle } from "./throttle.ts";

export interface ProcessTelemetryOptions {
  readonly setting: TelemetrySetting;
  readonly userUuid: string;
  /** The name of the graph, for messages. */
  readonly graph: string;
  readonly config: Pick<Config, "telemetry" | "network" | "http">;
  /** For tests. */
  readonly limits?: Partial<TelemetryLimits>;
  /** Sends a sample to the elements of the runner. Resolves with the number of elements that received it. */
  deliver(message: TelemetrySample | TelemetryBatch): Promise<unknown>;
  /** Of recorded telemetry. Resolves with null if it was deleted. */
  load?(): Promise<{ readonly samples: StoredSamples; readonly lack: string | null } | null>;
  /** Sends the calibration of the heading to the elements of the runner. */
  calibrate(calibration: HeadingCalibration): Promise<unknown>;
  /** Sends a message to the subscribers of `drone_data`. */
  publish(message: JsonRecord): void;
  announce(info: TelemetryInfo): void;
}

const UNCALIBRATED: HeadingCalibration = { offset: 0, error: null };
const checkMessage = checkBy(DroneDataMessage);
/** The format of what a runner reads itself does not matter here. */
const isReadByRunner = ({ type }: TelemetrySetting): boolean => type === "file" || type === "embedded";

export class ProcessTelemetry {
  /** The message that new subscribers of `drone_data` have missed: it is published only once. */
  lasting: JsonRecord | null = null;
  readonly #options: ProcessTelemetryOptions;
  readonly #limits: TelemetryLimits;
  /** Null: the runner reads it. */
  readonly #format: TelemetryFormat | null;
  #feed: RecordedFeed | null = null;
  #lack: string | null = null;
  readonly #channel: TelemetryChannel;
  readonly #throttle: Throttle<IncomingMessage>;
  readonly #queue: RunnerQueue;
  readonly #status: TelemetryStatus;
  #calibration: HeadingCalibration = UNCALIBRATED;
  #hasRunner = false;
  #isClosed = false;

  /** Opens the channel, which connects in the background. */
  constructor(options: ProcessTelemetryOptions) {
    const { setting, config, graph } = options;
    const limits = { ...LIMITS, ...options.limits };
    const staleMs = config.telemetry.stale_seconds * 1000;
    this.#options = options;
    this.#limits = limits;
    this.#format = isReadByRunner(setting) ? null : createFormat(setting.format as FormatName, setting.parameters);
    const status = new TelemetryStatus({
      ...{ isStatic: setting.type === "static", staleMs, graph },
      announce: (info) => options.announce(info),
    });
    this.#status = status;
    this.#queue = new RunnerQueue({
      deliver: (sample) => options.deliver(sample),
      onListeners: (count) => this.#update(() => (status.listeners = count)),
      onDropped: () => {
        status.thinned += 1;
      },
    });
    this.#throttle = new Throttle({
      perSecond: setting.type === "udp" ? limits.datagramsPerSecond : limits.messagesPerSecond,
      pass: (message) => this.#use(message),
      drop: (message) => this.#drop(message),
    });
    this.#channel = openChannel({
      ...{ setting, userUuid: options.userUuid, config, limits },
      onMessage: (message) => this.#receive(message),
      onDropped: (reason) => {
        if (this.#isClosed) return;
        status.received += 1;
        status.refused += 1;
        this.#update(() => (status.rejection = reason));
      },
      onTrouble: (trouble) => this.#update(() => (status.trouble = trouble)),
    });
    status.start(this.#channel.advice);
  }

  get info(): TelemetryInfo {
    return this.#status.info;
  }

  get numbers(): TelemetryNumbers {
    return this.#status.numbers;
  }

  /** Throws where clients cannot send messages. */
  expectReceiver(): (message: IncomingMessage) => void {
    const { receive } = this.#channel;
    if (receive === undefined) throw refuseSocket(this.#options.setting.type);
    return receive;
  }

  /** Before a runner starts. Loads recorded telemetry, once. */
  async prepare(): Promise<void> {
    if (this.#feed !== null || this.#options.load === undefined) return;
    const recorded = await this.#options.load();
    if (recorded === null) return;
    this.#feed = new RecordedFeed(recorded.samples);
    this.#lack = recorded.lack;
  }

  /** Recorded samples that a new runner has before its first frame; null: none. The others follow. */
  beginRun(epochMs: number, positionMs: number): TelemetryBatch | null {
    return this.#feed?.begin(epochMs, positionMs) ?? null;
  }

  /** A new runner receives the last samples again. */
  noteRunner(state: "running" | "paused" | "gone"): void {
    const isNew = !this.#hasRunner && state !== "gone";
    this.#hasRunner = state !== "gone";
    // Before the first sample.
    if (isNew && this.#calibration !== UNCALIBRATED) this.#sendCalibration();
    this.#queue.setRunner(state);
    // A runner that ends meanwhile gets nothing; the next one begins again.
    if (state === "running") this.#feed?.send((batch) => this.#options.deliver(batch)).catch(() => {});
    if (state === "gone") this.#update(() => this.#status.forgetRunner());
  }

  /** Null: the heading is used as it is reported. Takes effect with the next frame. */
  calibrate(calibration: HeadingCalibration | null): void {
    const next = calibration ?? UNCALIBRATED;
    if (isDeepStrictEqual(next, this.#calibration)) return;
    this.#calibration = next;
    if (this.#hasRunner) this.#sendCalibration();
  }

  /** An event of an element in the runner. */
  handleEvent(event: JsonRecord): void {
    if (event.type === "telemetry") this.#handleMessage(event.message as JsonRecord);
    else this.#update(() => this.#status.handleEvent(event));
  }

  /** What the runner has read from the stream or a file, at its time. */
  #handleMessage(message: JsonRecord): void {
    if (this.#isClosed || this.#format !== null || checkMessage(message).length > 0) return;
    this.#status.received += 1;
    this.#status.noteUse(this.#lack);
    this.#options.publish(message);
    this.#status.check();
  }

  close(): void {
    this.#isClosed = true;
    this.#channel.close();
    this.#throttle.close();
    this.#status.close();
  }

  #sendCalibration(): void {
    // A runner that is gone is replaced by one that gets it, too.
    void this.#options.calibrate(this.#calibration).catch(() => {});
  }

  #receive(message: IncomingMessage): void {
    if (this.#isClosed || this.#format?.isRelevant?.(message.payload) === false) return;
    this.#status.received += 1;
    this.#throttle.put(message);
  }

  #use(message: IncomingMessage): void {
    const { isLasting = false, isRetained = false } = message;
    const reading = this.#read(message);
    // A retained message shows where the drone was at some time: it is published, but geolocates nothing.
    if (reading !== null && isRetained) this.#options.publish(reading.native);
    else if (reading !== null) {
      const { sample, native, lack } = reading;
      this.#status.noteUse(lack);
      if (isLasting) this.lasting = native;
      this.#options.publish(native);
      this.#queue.put(isLasting ? { ...sample, timeMs: null } : sample);
    }
    this.#status.check();
  }

  /** Null when it cannot be parsed, or says nothing: every error of a format is caused by the message. */
  #read(message: IncomingMessage): Reading | null {
    const { format, parameters } = this.#options.setting;
    // A retained message must not complete those that follow.
    const reader = message.isRetained === true ? createFormat(format as FormatName, parameters) : this.#format;
    try {
      return reader === null ? null : reader.read(message.payload, Date.now());
    } catch (error) {
      this.#status.refused += 1;
      this.#status.rejection = describeFault(error);
      message.refuse?.(error as Error);
      return null;
    }
  }

  #drop(message: IncomingMessage): void {
    this.#status.thinned += 1;
    const { messagesPerSecond } = this.#limits;
    const detail = `Message dropped: more than ${messagesPerSecond} messages/s; only the newest are used.`;
    message.refuse?.(new ServiceError("rate_limited", { detail }));
  }

  #update(change: () => void): void {
    if (this.#isClosed) return;
    change();
    this.#status.check();
  }
}

function describeFault(error: unknown): string {
  if (!(error instanceof TelemetryFault)) return "it does not have the format of a message";
  return [error.message, ...error.faults.map(({ path, message }) => `${path} ${message}`)].join("; ");
}

const START_AGAIN = '"websocket" (PATCH /source/{source_id}) and start the process again.';

/** Sent before the socket opens, not for each message: most senders read nothing, but notice a connection that fails. */
const refuseSocket = (type: TelemetrySetting["type"]): ServiceError =>
  new ServiceError("telemetry_not_taken", {
    detail: `The telemetry of this source uses the channel "${type}". Set its telemetry_cfg to the type ${START_AGAIN}`,
  });

/** The same for a source without telemetry. */
export const refuseTelemetry = (): ServiceError =>
  new ServiceError("telemetry_not_taken", {
    detail: `The source of this process has no telemetry_cfg. Give it one of the type ${START_AGAIN}`,
  });
