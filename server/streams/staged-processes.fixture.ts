import type { JsonRecord } from "../../schemas/json.ts";
import type { Picture, Processes, ProcessNotice, ProcessState } from "../processes/processes.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";

/** A process that does what the test says. */
export class StagedProcess {
  readonly uuid = newUuid();
  readonly user: User;
  readonly offers: readonly string[];
  readonly delivered: JsonRecord[] = [];
  readonly followers = new Set<(notice: ProcessNotice) => void>();
  readonly watchers = new Set<(picture: Picture) => void>();
  isOver = false;
  state: ProcessState = "running";
  /** What `deliver` waits for. */
  gate: () => Promise<void> = async () => {};

  constructor(user: User, offers: readonly string[] = ["detections", "feed"]) {
    this.user = user;
    this.offers = offers;
  }

  tell(notice: ProcessNotice): void {
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
    this.tell({ type: "message", channel: "detection_data", message });
  }

  show(bytes: Uint8Array, captureMs = Date.now()): void {
    for (const watcher of [...this.watchers]) watcher({ captureMs, bytes });
  }

  end(state: "finished" | "failed" = "finished", code = "pipeline_failed"): void {
    this.isOver = true;
    this.tell({ type: "state", state, error: state === "failed" ? { code, detail: "It broke." } : null });
    this.tell({ type: "ended" });
    this.followers.clear();
    this.watchers.clear();
  }
}

type Staged = Pick<Processes, "follow" | "watch" | "deliver" | "expectOffer">;

export class StagedProcesses implements Staged {
  readonly #all = new Map<string, StagedProcess>();

  add(process: StagedProcess): StagedProcess {
    this.#all.set(process.uuid, process);
    return process;
  }

  async expectOffer(user: User, uuid: string, offer: string): Promise<void> {
    const { offers } = this.#find(user, uuid);
    if (!offers.includes(offer)) throw new ServiceError("graph_lacks", { detail: `It has no ${offer}.` });
  }

  async deliver(user: User, uuid: string, channel: string, message: JsonRecord): Promise<void> {
    const process = this.#find(user, uuid);
    process.delivered.push({ channel, ...message });
    await process.gate();
  }

  async follow(user: User, uuid: string, listener: (notice: ProcessNotice) => void): Promise<() => void> {
    const process = this.#find(user, uuid);
    listener({ type: "state", state: process.state, error: null });
    process.followers.add(listener);
    return () => void process.followers.delete(listener);
  }

  async watch(user: User, uuid: string, listener: (picture: Picture) => void): Promise<() => Promise<void>> {
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
