/**
 * What the runners of a process have attached: outputs and branches of clients, recordings, the pictures that viewers watch;
 * and the properties that the service supplies. It outlives the runners: each one begins with it, and is kept up to date.
 */
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { LiveValues } from "../../schemas/live-values.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import type { SerialQueue } from "../async/serial-queue.ts";
import type { AlertNode } from "../graphs/library.ts";
import type { RouteOutput } from "../outputs/route-output.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput, BranchRow } from "../store/outputs.ts";
import type { ProcessRow } from "../store/processes.ts";
import { graphLacks } from "./errors.ts";
import type { StateMachine } from "./lifecycle.ts";
import { ORIGINAL, OriginalStream, type OriginalStreamDeps } from "./original-stream.ts";
import { ProcessBranches, ProcessOutputs } from "./outputs.ts";
import type { ProcessRecord } from "./process-record.ts";
import type { Picture, PictureSlot, ProcessOffers } from "./processes.ts";
import { Recorder, type RecordingPlace, type RecordingState } from "./recorder.ts";
import type { Attachment, AttachmentReport, RunnerLink } from "./runner.ts";
import { RECORDING } from "./runner-folders.ts";

export interface AttachmentsOptions {
  readonly row: ProcessRow;
  readonly outputs: readonly AttachedOutput[];
  readonly branches: readonly BranchRow[];
  /** Its key has process recording. */
  readonly hasRecording: boolean;
  /** Of its input. */
  readonly isPulled: boolean;
}

interface AttachmentsDeps {
  /** With the graph that the process runs now. */
  readonly record: Pick<ProcessRecord, "graph">;
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
  readonly supplied: SuppliedProperties;
  readonly #options: AttachmentsOptions;
  readonly #deps: AttachmentsDeps;
  /** Null: it does not pull its source. */
  readonly original: OriginalStream | null;
  /** Null: its key has no recording, or its graph has no slot for it. */
  readonly #recorder: Recorder | null;
  /** Outputs in the job of the current runner, until it is set up. */
  #begunWith: ReadonlySet<string> = new Set();

  constructor(options: AttachmentsOptions, deps: AttachmentsDeps) {
    const { row } = options;
    const hasSlot = (slot: string): boolean => Object.hasOwn(deps.record.graph.slots, slot);
    const isRecorded = options.hasRecording && hasSlot(RECORDING);
    this.#options = options;
    this.#deps = deps;
    this.outputs = new ProcessOutputs(options.outputs, (output, failing) =>
      deps.routeOutput(output, failing, row.sourceUuid),
    );
    this.branches = new ProcessBranches(options.branches, (slot) => hasSlot(slot));
    this.feed = new Feed(deps);
    this.supplied = new SuppliedProperties(deps.record);
    const { hub } = deps;
    const isOffered = () => hasSlot(ORIGINAL);
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
    const own = outputs.attachments;
    this.#begunWith = new Set(own.map(({ id }) => id));
    return {
      attach: [
        ...[...own, ...branches.attachments, ...recordings, ...feed.beginRun()],
        ...(this.original?.beginRun() ?? []),
      ],
      ...(Object.keys(live).length > 0 && { live }),
    };
  }

  /** Outputs that were attached or detached while the runner was being launched. Rejects when the runner ends meanwhile. */
  async syncOutputs(): Promise<void> {
    const { link } = this.#deps;
    for (const id of this.#begunWith) if (!this.outputs.has(id)) await link.detach(id);
    for (const attachment of this.outputs.attachments)
      if (!this.#begunWith.has(attachment.id)) await this.attachOutput(attachment);
    this.#begunWith = new Set();
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
    const { slots } = this.#deps.record.graph;
    if (!Object.hasOwn(slots, slot)) throw graphLacks(this.#options.row.graph, slot, Object.keys(slots));
  }

  /** Throws `graph_lacks` when another graph of the process lacks a slot that is attached, except for viewers. */
  expectAttachable({ slots }: Pick<ProcessOffers, "slots">): void {
    const used = [
      ...this.outputs.attachments.map(({ id, slot }) => ({ slot, what: `the output ${id}` })),
      ...this.branches.attachments.map(({ id, slot }) => ({ slot, what: `the branch ${id}` })),
      ...(this.recording?.isRecording === true ? [{ slot: RECORDING, what: "the recording of the process" }] : []),
      ...(this.original?.isAttached === true ? [{ slot: ORIGINAL, what: "the recording of the camera" }] : []),
    ];
    const lacking = used.find(({ slot }) => !Object.hasOwn(slots, slot));
    if (lacking !== undefined)
      throw new ServiceError("graph_lacks", {
        detail: `this version has no slot "${lacking.slot}", which ${lacking.what} uses; detach or stop that first`,
      });
  }

  async attachOutput(attachment: Attachment): Promise<void> {
    this.expectSlot(attachment.slot);
    await this.#deps.link.attach(attachment);
  }
}

const SLOTS: readonly PictureSlot[] = ["feed", "view"];

type FeedDeps = Pick<AttachmentsDeps, "link" | "queue" | "machine" | "record">;

type Viewer = { readonly slot: PictureSlot; readonly listener: (picture: Picture) => void };

/**
 * The viewers of a process's pictures: annotated (slot `feed`) or plain (slot `view`). A slot is attached, under its own
 * name, while it has viewers and the process runs.
 */
export class Feed {
  readonly #deps: FeedDeps;
  readonly #viewers = new Set<Viewer>();
  readonly #attached = new Set<PictureSlot>();
  /** A queued `sync` that has not started serves all viewers that come and go until then. */
  #queued: Promise<void> | null = null;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  /** An upgrade of the graph may remove a slot that is being watched. */
  get #watched(): readonly PictureSlot[] {
    const { slots } = this.#deps.record.graph;
    return SLOTS.filter(
      (slot) => Object.hasOwn(slots, slot) && [...this.#viewers].some((viewer) => viewer.slot === slot),
    );
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
  /** `null`: the graph evaluates no alerts. */
  live(alertNode: AlertNode | null): LiveValues;
}

/** Every runner begins with them and is updated when they change. */
class SuppliedProperties {
  values: SuppliedValues | null = null;
  readonly #record: Pick<ProcessRecord, "graph">;
  /** What the current runner has. */
  #sent: LiveValues = {};

  constructor(record: Pick<ProcessRecord, "graph">) {
    this.#record = record;
  }

  /** For the graph that the process runs, or is going to. */
  valuesFor({ alertNode = null }: Pick<ProcessOffers, "alertNode"> = this.#record.graph): LiveValues {
    return this.values?.live(alertNode) ?? {};
  }

  /** The runner has them by other means. */
  noteSent(live: LiveValues): void {
    this.#sent = live;
  }

  async prepare(): Promise<void> {
    await this.values?.prepare();
  }

  /** For the job of a new runner. */
  beginRun(): LiveValues {
    this.#sent = this.valuesFor();
    return this.#sent;
  }

  /** Rejects when the runner does; the next change retries it. */
  async sync(link: RunnerLink): Promise<void> {
    const live = this.valuesFor();
    if (isDeepStrictEqual(live, this.#sent)) return;
    await link.request({ type: "set", nodes: live });
    this.#sent = live;
  }
}
