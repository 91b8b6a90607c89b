/** The outputs of a process: which way each goes in the present run, and how it gets on there. */
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import type { OutputRoute, RouteOutput } from "../outputs/output-route.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput } from "../store/attachments.ts";

type Report = RunnerMessage & { type: "attachment" };
type Attachment = RunnerJob["attach"][number];

/** As clients see it. */
export interface OutputState extends Pick<Report, "status" | "detail" | "framesSent" | "framesDropped"> {
  readonly outputUuid: string;
  readonly type: AttachedOutput["type"];
}

interface Entry {
  readonly output: AttachedOutput;
  /** Null while there is none, and for data. */
  route: OutputRoute | null;
  state: OutputState;
}

export class ProcessOutputs {
  readonly #route: RouteOutput;
  readonly #entries = new Map<string, Entry>();
  /** What is being attached: heard of, and not there yet. */
  #coming: Entry | null = null;

  constructor(outputs: readonly AttachedOutput[], route: RouteOutput) {
    this.#route = route;
    for (const output of outputs) this.#entries.set(output.outputUuid, makeEntry(output));
  }

  has(uuid: string): boolean {
    return this.#entries.has(uuid);
  }

  /** Is there a branch for it in the runner? */
  isRouted(uuid: string): boolean {
    return (this.#entries.get(uuid)?.route ?? null) !== null;
  }

  get states(): readonly OutputState[] {
    return [...this.#entries.values()].map(({ state }) => state);
  }

  /** For a run that is about to begin: each goes a way of its own, or says why it does not. Never rejects. */
  async prepare(): Promise<void> {
    this.endRun();
    await Promise.all([...this.#entries.values()].map((entry) => this.#find(entry)));
  }

  /** What a run begins with. */
  get attachments(): readonly Attachment[] {
    return [...this.#entries.values()].flatMap((entry) => attachmentOf(entry) ?? []);
  }

  /**
   * One more. `attach` does it where there is a way to go. Rejects when it may not go there or `attach` does, and then
   * nothing is left of it.
   */
  async add(output: AttachedOutput, attach: (attachment: Attachment) => Promise<void>): Promise<void> {
    const entry = makeEntry(output);
    this.#coming = entry;
    try {
      await this.#find(entry, (error) => {
        throw error;
      });
      const attachment = attachmentOf(entry);
      if (attachment !== null) await attach(attachment);
      this.#entries.set(output.outputUuid, entry);
    } catch (error) {
      entry.route?.release();
      throw error;
    } finally {
      this.#coming = null;
    }
  }

  delete(uuid: string): void {
    this.#entries.get(uuid)?.route?.release();
    this.#entries.delete(uuid);
  }

  /** Another way for those that get nowhere, where there is one. `detach` and `attach` put it into effect. */
  async tend(
    detach: (uuid: string) => Promise<void>,
    attach: (attachment: Attachment) => Promise<void>,
  ): Promise<void> {
    for (const entry of [...this.#entries.values()]) {
      if (!goesAway(entry.output) || entry.state.status !== "retrying") continue;
      const { route } = entry;
      await this.#find(entry);
      if (entry.route === route) continue;
      if (route !== null) await detach(entry.output.outputUuid);
      const attachment = attachmentOf(entry);
      if (attachment === null) continue;
      try {
        await attach(attachment);
      } catch (error) {
        entry.route = null;
        this.#note(entry, "retrying", error as Error);
      }
    }
  }

  hear({ attachment, status, detail, framesSent, framesDropped }: Report): void {
    const coming = this.#coming?.output.outputUuid === attachment ? this.#coming : null;
    const entry = this.#entries.get(attachment) ?? coming;
    if (entry === null || entry.route === null) return;
    const shown = detail === null ? null : maskCredentials(detail);
    entry.state = { ...entry.state, status, detail: shown, framesSent, framesDropped };
  }

  /** No way is good for the next run. */
  endRun(): void {
    for (const entry of this.#entries.values()) {
      entry.route?.release();
      entry.route = null;
      entry.state = firstState(entry.output);
    }
  }

  async #find(entry: Entry, refuse: (error: ServiceError) => void = () => {}): Promise<void> {
    const failing = entry.route;
    try {
      entry.route = await this.#route(entry.output, failing);
      if (entry.route !== failing) entry.state = firstState(entry.output);
    } catch (error) {
      entry.route = null;
      const status = error instanceof ServiceError ? "failed" : "retrying";
      this.#note(entry, status, error as Error);
      if (error instanceof ServiceError) refuse(error);
    }
  }

  #note(entry: Entry, status: OutputState["status"], { message }: Error): void {
    entry.state = { ...firstState(entry.output), status, detail: maskCredentials(message) };
  }
}

/** To an address that a client has named, which may be one of several. */
const goesAway = ({ type }: AttachedOutput): boolean => type === "rtmp" || type === "cot";

const makeEntry = (output: AttachedOutput): Entry => ({ output, route: null, state: firstState(output) });

/** Data is there as soon as the process runs. */
const firstState = ({ outputUuid, type }: AttachedOutput): OutputState => {
  const status = type === "detection_data" || type === "drone_data" ? "live" : "starting";
  return { outputUuid, type, status, detail: null, framesSent: 0, framesDropped: 0 };
};

const attachmentOf = ({ output, route }: Entry): Attachment | null =>
  route === null ? null : { id: output.outputUuid, slot: output.type, params: route.params };
