/**
 * What the runners of a process have attached: outputs and branches of clients, recordings, the pictures that viewers watch;
 * and the properties that the service supplies. It outlives the runners: each one begins with it, and is kept up to date.
 */
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { LiveValues } from "../../schemas/live-values.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import type { SerialQueue } from "../async/serial-queue.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import type { AttachedOutput, BranchRow } from "../store/outputs.ts";
import type { ProcessRow } from "../store/processes.ts";
import { graphLacks } from "./errors.ts";
import type { StateMachine } from "./lifecycle.ts";
import { ORIGINAL, OriginalStream, type OriginalStreamDeps } from "./original-stream.ts";
import { ProcessBranches, ProcessOutputs } from "./outputs.ts";
import type { Picture, PictureSlot, ProcessOffers } from "./processes.ts";
import { Recorder, type RecordingPlace, type RecordingState } from "./recorder.ts";
import type { Attachment, AttachmentReport, RunnerLink } from "./runner.ts";
import { RECORDING } from "./runner-folders.ts";

export interface AttachmentsOptions extends Pick<ProcessOffers, "slots"> {
  readonly row: ProcessRow;
  readonly outputs: readonly AttachedOutput[];
  readonly branches: readonly BranchRow[];
  /** Its key has process recording. */
  readonly hasRecording: boolean;
  /** Of its input. */
  readonly isPulled: boolean;
}

interface AttachmentsDeps {
  readonly link: RunnerLink;
  readonly machine: StateMachine;
  /** Of everything that changes the runner. */
  readonly queue: SerialQueue;
  readonly log: Logger;
  readonly routeOutput: RouteOutput;
  readonly recordings: RecordingPlace;
  /** Null: there is none, and nothing is published to it. */
  readonly hub: OriginalStreamDeps["hub"] | null;
}

export class Attachments {
  readonly outputs: ProcessOutputs;
  readonly branches: ProcessBranches;
  readonly feed: Feed;
  readonly supplied = new SuppliedProperties();
  readonly #options: AttachmentsOptions;
  readonly #deps: AttachmentsDeps;
  /** Null: it does not pull its source. */
  readonly original: OriginalStream | null;
  /** Null: its key has no recording, or its graph has no slot for it. */
  readonly #recorder: Recorder | null;

  constructor(options: AttachmentsOptions, deps: AttachmentsDeps) {
    const { row, slots } = options;
    const isRecorded = options.hasRecording && RECORDING in slots;
    this.#options = options;
    this.#deps = deps;
    this.outputs = new ProcessOutputs(options.outputs, (output, failing) =>
      deps.routeOutput(output, failing, row.sourceUuid),
    );
    this.branches = new ProcessBranches(options.branches, slots);
    this.feed = new Feed(deps);
    const { hub } = deps;
    const isOffered = ORIGINAL in slots;
    this.original =
      options.isPulled && hub !== null ? new OriginalStream({ ...deps, hub, graph: row.graph, isOffered }) : null;
    this.#recorder = isRecorded ? new Recorder({ ...deps, processUuid: row.uuid }) : null;
  }

  /** Null for a process that is not to be recorded. */
  get recording(): RecordingState | null {
    return this.#recorder?.state ?? null;
  }

  /** Before a launch. Never rejects. */
  async prepare(): Promise<void> {
    await Promise.all([this.outputs.prepare(), this.#recorder?.prepare(), this.supplied.prepare()]);
  }

  /** For the job of a new runner. */
  beginRun(): Pick<RunnerJob, "attach" | "live"> {
    const { outputs, branches, feed, supplied } = this;
    const live = supplied.beginRun();
    const recordings = this.#recorder?.beginRun() ?? [];
    return {
      attach: [
        ...[...outputs.attachments, ...branches.attachments, ...recordings, ...feed.beginRun()],
        ...(this.original?.beginRun() ?? []),
      ],
      ...(Object.keys(live).length > 0 && { live }),
    };
  }

  handle(report: AttachmentReport): void {
    this.outputs.handle(report);
    this.branches.handle(report);
    this.#recorder?.handle(report);
    this.original?.handle(report);
  }

  /** Reroutes failing outputs, and records by the space there is. Rejects when the runner ends meanwhile. */
  async tend(): Promise<void> {
    const { machine, queue, link, log } = this.#deps;
    // No frames flow while it is paused: its outputs are not at fault.
    const isRunning = (): boolean => machine.state === "running";
    const reroutes = isRunning() ? await this.outputs.findReroutes() : [];
    return queue.run(async () => {
      if (!machine.isLive) return;
      await this.#recorder?.tend().catch((error) => log.warn({ err: error }, "recording could not be updated"));
      if (isRunning()) await this.outputs.applyReroutes(reroutes, link, (attachment) => this.attachOutput(attachment));
    });
  }

  endRun(): void {
    this.outputs.endRun();
    this.branches.endRun();
    this.#recorder?.endRun();
    this.original?.endRun();
  }

  /** Throws `graph_lacks`. */
  expectSlot(slot: string): void {
    const { row, slots } = this.#options;
    if (!Object.hasOwn(slots, slot)) throw graphLacks(row.graph, slot, Object.keys(slots));
  }

  async attachOutput(attachment: Attachment): Promise<void> {
    this.expectSlot(attachment.slot);
    await this.#deps.link.attach(attachment);
  }
}

const SLOTS: readonly PictureSlot[] = ["feed", "view"];

type Viewer = { readonly slot: PictureSlot; readonly listener: (picture: Picture) => void };

/**
 * The viewers of a process's pictures: annotated (slot `feed`) or plain (slot `view`). A slot is attached, under its own
 * name, while it has viewers and the process runs.
 */
export class Feed {
  readonly #deps: Pick<AttachmentsDeps, "link" | "queue" | "machine">;
  readonly #viewers = new Set<Viewer>();
  readonly #attached = new Set<PictureSlot>();
  /** A queued `sync` that has not started serves all viewers that come and go until then. */
  #queued: Promise<void> | null = null;

  constructor(deps: Pick<AttachmentsDeps, "link" | "queue" | "machine">) {
    this.#deps = deps;
  }

  get #watched(): readonly PictureSlot[] {
    return SLOTS.filter((slot) => [...this.#viewers].some((viewer) => viewer.slot === slot));
  }

  /** Resolves with a function that ends it. While the process does not run, pictures come with its next frames. */
  async watch(slot: PictureSlot, listener: Viewer["listener"]): Promise<() => Promise<void>> {
    const viewer = { slot, listener };
    this.#viewers.add(viewer);
    const leave = async (): Promise<void> => {
      this.#viewers.delete(viewer);
      // A runner that has ended has nothing to detach.
      await this.#queueSync().catch(() => {});
    };
    try {
      await this.#queueSync();
    } catch (error) {
      await leave();
      throw error;
    }
    return leave;
  }

  show(slot: string, picture: Picture): void {
    for (const viewer of [...this.#viewers]) if (viewer.slot === slot) viewer.listener(picture);
  }

  /** For the job of a new runner. */
  beginRun(): readonly Attachment[] {
    this.#attached.clear();
    for (const slot of this.#watched) this.#attached.add(slot);
    return [...this.#attached].map(pictureAttachment);
  }

  /** Attaches and detaches slots by their viewers. Only from tasks of the queue. */
  async sync(): Promise<void> {
    const { link } = this.#deps;
    const watched = this.#watched;
    for (const slot of SLOTS) {
      const isWatched = watched.includes(slot);
      if (isWatched === this.#attached.has(slot)) continue;
      await (isWatched ? link.attach(pictureAttachment(slot)) : link.detach(slot));
      if (isWatched) this.#attached.add(slot);
      else this.#attached.delete(slot);
    }
  }

  #queueSync(): Promise<void> {
    const { queue, machine } = this.#deps;
    this.#queued ??= queue.run(async () => {
      this.#queued = null;
      if (machine.state === "running") await this.sync();
    });
    return this.#queued;
  }
}

const pictureAttachment = (slot: PictureSlot): Attachment => ({ id: slot, slot, params: {} });

/** Properties that the service supplies, such as alert rules. */
export interface SuppliedValues {
  /** Before each launch, to read them. Never rejects, and is quick. */
  prepare(): Promise<void>;
  readonly live: LiveValues;
}

/** Every runner begins with them and is updated when they change. */
class SuppliedProperties {
  values: SuppliedValues | null = null;
  /** What the current runner has. */
  #sent: LiveValues = {};

  async prepare(): Promise<void> {
    await this.values?.prepare();
  }

  /** For the job of a new runner. */
  beginRun(): LiveValues {
    this.#sent = this.values?.live ?? {};
    return this.#sent;
  }

  /** Rejects when the runner does; the next change retries it. */
  async sync(link: RunnerLink): Promise<void> {
    const live = this.values?.live ?? {};
    if (isDeepStrictEqual(live, this.#sent)) return;
    await link.request({ type: "set", nodes: live });
    this.#sent = live;
  }
}
