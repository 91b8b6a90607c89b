/** The outputs of a process: which way each goes in the present run, and how it gets on there. */
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import type { OutputRoute, RouteOutput } from "../outputs/route-output.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput } from "../store/outputs.ts";

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

/** A way, none that is needed, or why there is none. */
type Found = OutputRoute | null | Error;

/** Another way for an output, in place of one that leads nowhere. */
export interface Detour {
  readonly entry: Entry;
  readonly from: OutputRoute | null;
  readonly found: Found;
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
      const found = await this.#ask(output, null);
      if (found instanceof ServiceError) throw found;
      this.#take(entry, found);
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

  /** Other ways for those that get nowhere, all looked for at once: names may take long to be found. Never rejects. */
  async seek(): Promise<readonly Detour[]> {
    const failing = [...this.#entries.values()].filter(
      ({ output, state }) => goesAway(output) && state.status === "retrying",
    );
    return Promise.all(
      failing.map(async (entry) => {
        const { route: from } = entry;
        return { entry, from, found: await this.#ask(entry.output, from) };
      }),
    );
  }

  /** Where nothing has changed since they were found. `detach` and `attach` put them into effect. */
  async follow(
    detours: readonly Detour[],
    detach: (uuid: string) => Promise<void>,
    attach: (attachment: Attachment) => Promise<void>,
  ): Promise<void> {
    for (const { entry, from, found } of detours) {
      const { outputUuid } = entry.output;
      if (this.#entries.get(outputUuid) !== entry || entry.route !== from) {
        if (found instanceof Error || found === from) continue;
        found?.release();
        continue;
      }
      this.#take(entry, found);
      if (entry.route === from) continue;
      if (from !== null) await detach(outputUuid);
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

  async #find(entry: Entry): Promise<void> {
    this.#take(entry, await this.#ask(entry.output, entry.route));
  }

  #ask(output: AttachedOutput, failing: OutputRoute | null): Promise<Found> {
    return this.#route(output, failing).catch((error: Error) => error);
  }

  #take(entry: Entry, found: Found): void {
    if (found instanceof Error) {
      entry.route = null;
      this.#note(entry, found instanceof ServiceError ? "failed" : "retrying", found);
    } else if (found !== entry.route) {
      entry.route = found;
      entry.state = firstState(entry.output);
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
