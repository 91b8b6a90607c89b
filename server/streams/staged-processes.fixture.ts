import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import type { Picture, PictureSlot, Processes, ProcessNotice, ProcessState } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { IncomingMessage, TelemetryLimits } from "../telemetry/channels.ts";
import { ProcessTelemetry, refuseTelemetry } from "../telemetry/process-telemetry.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";

export interface StagedParts {
  readonly config: Config;
  readonly telemetryLimits?: Partial<TelemetryLimits>;
  readonly offers?: readonly string[];
  /** How its telemetry comes: to the socket, unless the test says otherwise. */
  readonly setting?: TelemetrySetting | null;
}

const SOCKET: TelemetrySetting = { type: "websocket", format: "native", parameters: {} };

/** A process that does what the test says; what becomes of its telemetry is real. */
export class StagedProcess {
  readonly uuid = newUuid();
  readonly user: User;
  readonly offers: readonly string[];
  /** Telemetry of its source, or the error for a client that sends some. */
  readonly telemetry: ProcessTelemetry | ServiceError;
  readonly delivered: TelemetrySample[] = [];
  readonly followers = new Set<(notice: ProcessNotice) => void>();
  readonly watchers = new Set<(picture: Picture) => void>();
  isOver = false;
  state: ProcessState = "running";
  /** What `deliver` waits for. */
  gate: () => Promise<void> = async () => {};

  constructor(
    user: User,
    { offers = ["detections", "feed"], config, telemetryLimits = {}, setting = SOCKET }: StagedParts,
  ) {
    this.user = user;
    this.offers = offers;
    this.telemetry = setting === null ? refuseTelemetry() : this.#openTelemetry(setting, config, telemetryLimits);
  }

  get receiver(): (message: IncomingMessage) => void {
    if (this.telemetry instanceof ServiceError) throw this.telemetry;
    return this.telemetry.expectReceiver();
  }

  emit(notice: ProcessNotice): void {
    for (const follower of [...this.followers]) follower(notice);
  }

  detect(fields: JsonRecord = {}): void {
    const message = {
      timestamp: new Date().toISOString(),
      source_uri: "rtsp://camera/main",
      process_uuid: this.uuid,
      active_tracks: [],
      ...fields,
    };
    this.emit({ type: "message", channel: "detection_data", message });
  }

  show(bytes: Uint8Array, captureMs = Date.now()): void {
    for (const watcher of [...this.watchers]) watcher({ captureMs, bytes });
  }

  end(state: "finished" | "failed" = "finished", code = "pipeline_failed"): void {
    this.isOver = true;
    this.leave();
    this.emit({ type: "state", state, error: state === "failed" ? { code, detail: "It broke." } : null });
    this.emit({ type: "ended" });
    this.followers.clear();
    this.watchers.clear();
  }

  leave(): void {
    if (this.telemetry instanceof ProcessTelemetry) this.telemetry.close();
  }

  #openTelemetry(setting: TelemetrySetting, config: Config, limits: Partial<TelemetryLimits>): ProcessTelemetry {
    const telemetry = new ProcessTelemetry({
      ...{ setting, config, limits, graph: "staged", userUuid: "00000000-0000-7000-8000-000000000001" },
      deliver: async (message) => {
        this.delivered.push(...("samples" in message ? message.samples : [message]));
        await this.gate();
        return 1;
      },
      calibrate: async () => 1,
      publish: (message) => this.emit({ type: "message", channel: "drone_data", message }),
      announce: (info) => this.emit({ type: "telemetry", telemetry: info }),
    });
    telemetry.noteRunner("running");
    return telemetry;
  }
}

type Staged = Pick<Processes, "follow" | "watch" | "openTelemetry" | "expectOffer">;

export class StagedProcesses implements Staged {
  readonly #all = new Map<string, StagedProcess>();

  close(): void {
    for (const process of this.#all.values()) process.leave();
  }

  add(process: StagedProcess): StagedProcess {
    this.#all.set(process.uuid, process);
    return process;
  }

  async expectOffer(user: User, uuid: string, offer: string): Promise<void> {
    const { offers } = this.#find(user, uuid);
    if (!offers.includes(offer)) throw new ServiceError("graph_lacks", { detail: `It has no ${offer}.` });
  }

  async openTelemetry(user: User, uuid: string): Promise<(message: IncomingMessage) => void> {
    return this.#find(user, uuid).receiver;
  }

  async follow(user: User, uuid: string, listener: (notice: ProcessNotice) => void): Promise<() => void> {
    const process = this.#find(user, uuid);
    listener({ type: "state", state: process.state, error: null });
    process.followers.add(listener);
    return () => void process.followers.delete(listener);
  }

  async watch(
    user: User,
    uuid: string,
    _slot: PictureSlot,
    listener: (picture: Picture) => void,
  ): Promise<() => Promise<void>> {
    const process = this.#find(user, uuid);
    process.watchers.add(listener);
    return async () => void process.watchers.delete(listener);
  }

  #find(user: User, uuid: string): StagedProcess {
    const process = this.#all.get(uuid);
    if (process === undefined || process.isOver || process.user.uuid !== user.uuid)
      throw new ServiceError("process_not_found", { detail: `There is no process ${uuid}.` });
    return process;
  }
}
