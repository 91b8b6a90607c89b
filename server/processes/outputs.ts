/** What clients attach to a process, outputs and branches of its graph, each with its status in the current runner. */
import { maskCredentials } from "../../schemas/mask.ts";
import type { AttachmentStatus, OutputState } from "../outputs/describe-output.ts";
import { OUTPUT_TYPE } from "../outputs/output-types.ts";
import type { OutputRoute, RouteOutput } from "../outputs/route-output.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput, BranchRow } from "../store/outputs.ts";
import type { BranchState } from "./processes.ts";
import type { Attachment, AttachmentReport, RunnerLink } from "./runner.ts";

type Attach = (attachment: Attachment) => Promise<void>;

interface Entry {
  readonly output: AttachedOutput;
  /** Null while there is none, and for data. */
  route: OutputRoute | null;
  state: OutputState;
}

/** A route, null where none is needed, or why there is none. */
type RouteResult = OutputRoute | null | Error;

/** The result of looking for another route for an output whose route fails. */
interface Reroute {
  readonly entry: Entry;
  readonly from: OutputRoute | null;
  readonly result: RouteResult;
}

export class ProcessOutputs {
  readonly #route: RouteOutput;
  readonly #entries = new Map<string, Entry>();
  /** Being attached: its reports arrive before it is listed. */
  #pending: Entry | null = null;

  constructor(outputs: readonly AttachedOutput[], route: RouteOutput) {
    this.#route = route;
    for (const output of outputs) this.#entries.set(output.outputUuid, newEntry(output));
  }

  has(uuid: string): boolean {
    return this.#entries.has(uuid);
  }

  /** The runner has a branch for it. */
  isRouted(uuid: string): boolean {
    return (this.#entries.get(uuid)?.route ?? null) !== null;
  }

  get states(): readonly OutputState[] {
    return [...this.#entries.values()].map(({ state }) => state);
  }

  /** Before a launch: finds a route for each, or records why there is none. Never rejects. */
  async prepare(): Promise<void> {
    this.endRun();
    await Promise.all(
      [...this.#entries.values()].map(async (entry) => this.#use(entry, await this.#find(entry.output, null))),
    );
  }

  /** For the job of a new runner. */
  get attachments(): readonly Attachment[] {
    return [...this.#entries.values()].flatMap((entry) => attachmentOf(entry) ?? []);
  }

  /** Calls `attach` where there is a route. Rejects, and leaves nothing, when the output is not allowed or `attach` rejects. */
  async add(output: AttachedOutput, attach: Attach): Promise<void> {
    const entry = newEntry(output);
    this.#pending = entry;
    try {
      const result = await this.#find(output, null);
      if (result instanceof ServiceError) throw result;
      this.#use(entry, result);
      const attachment = attachmentOf(entry);
      if (attachment !== null) await attach(attachment);
      this.#entries.set(output.outputUuid, entry);
    } catch (error) {
      entry.route?.release();
      throw error;
    } finally {
      this.#pending = null;
    }
  }

  delete(uuid: string): void {
    this.#entries.get(uuid)?.route?.release();
    this.#entries.delete(uuid);
  }

  /** Looks for other routes for outputs that are retrying, in parallel: name lookups may be slow. Never rejects. */
  async findReroutes(): Promise<readonly Reroute[]> {
    const failing = [...this.#entries.values()].filter(
      ({ output, state }) => isRemote(output) && state.status === "retrying",
    );
    return Promise.all(
      failing.map(async (entry) => {
        const { route: from } = entry;
        return { entry, from, result: await this.#find(entry.output, from) };
      }),
    );
  }

  /** Skips outputs that have changed since their reroute was found. */
  async applyReroutes(reroutes: readonly Reroute[], link: Pick<RunnerLink, "detach">, attach: Attach): Promise<void> {
    for (const { entry, from, result } of reroutes) {
      const { outputUuid } = entry.output;
      if (this.#entries.get(outputUuid) !== entry || entry.route !== from) {
        if (!(result instanceof Error) && result !== from) result?.release();
        continue;
      }
      this.#use(entry, result);
      if (entry.route === from) continue;
      try {
        if (from !== null) await link.detach(outputUuid);
      } finally {
        from?.release();
      }
      const attachment = attachmentOf(entry);
      if (attachment === null) continue;
      try {
        await attach(attachment);
      } catch (error) {
        entry.route?.release();
        this.#fail(entry, "retrying", error as Error);
      }
    }
  }

  handle(report: AttachmentReport): void {
    const { attachment } = report;
    const pending = this.#pending?.output.outputUuid === attachment ? this.#pending : null;
    const entry = this.#entries.get(attachment) ?? pending;
    if (entry !== null && entry.route !== null) entry.state = { ...entry.state, ...statusOf(report) };
  }

  /** Routes are used for one runner only. */
  endRun(): void {
    for (const entry of this.#entries.values()) {
      entry.route?.release();
      entry.route = null;
      entry.state = firstState(entry.output);
    }
  }

  #find(output: AttachedOutput, failing: OutputRoute | null): Promise<RouteResult> {
    return this.#route(output, failing).catch((error: Error) => error);
  }

  #use(entry: Entry, result: RouteResult): void {
    if (result instanceof Error) this.#fail(entry, result instanceof ServiceError ? "failed" : "retrying", result);
    else if (result !== entry.route) {
      entry.route = result;
      entry.state = firstState(entry.output);
    }
  }

  #fail(entry: Entry, status: AttachmentStatus["status"], { message }: Error): void {
    entry.route = null;
    entry.state = { ...firstState(entry.output), status, detail: maskCredentials(message) };
  }
}

/** To an address that a client has named; its host may have several addresses. */
const isRemote = ({ type }: AttachedOutput): boolean => OUTPUT_TYPE[type].target === "remote";

const newEntry = (output: AttachedOutput): Entry => ({ output, route: null, state: firstState(output) });

/** Data outputs are live as soon as the process runs. */
const firstState = ({ outputUuid, type }: AttachedOutput): OutputState => {
  const status = type === "detection_data" || type === "drone_data" ? "live" : "starting";
  return { outputUuid, type, status, detail: null, framesSent: 0, framesDropped: 0 };
};

const attachmentOf = ({ output, route }: Entry): Attachment | null =>
  route === null ? null : { id: output.outputUuid, slot: output.type, params: route.params, isExternal: true };

const statusOf = ({ status, detail, framesSent, framesDropped }: AttachmentReport): AttachmentStatus => ({
  ...{ status, framesSent, framesDropped },
  detail: detail === null ? null : maskCredentials(detail),
});

/** Slots that clients have attached; they are attached again to every runner. */
export class ProcessBranches {
  readonly #hasSlot: (slot: string) => boolean;
  readonly #states = new Map<string, BranchState>();

  /** `hasSlot` of the graph as it is now: it may have been changed since the branch was attached. */
  constructor(branches: readonly BranchRow[], hasSlot: (slot: string) => boolean) {
    this.#hasSlot = hasSlot;
    for (const branch of branches) this.#states.set(branch.uuid, this.#firstState(branch));
  }

  get(uuid: string): BranchState | undefined {
    return this.#states.get(uuid);
  }

  get states(): readonly BranchState[] {
    return [...this.#states.values()];
  }

  /** For the job of a new runner. */
  get attachments(): readonly Attachment[] {
    return this.states.filter((branch) => this.isOffered(branch)).map(branchAttachment);
  }

  /** The graph still has its slot. */
  isOffered({ slot }: BranchRow): boolean {
    return this.#hasSlot(slot);
  }

  /** When `attach` rejects, nothing is left of it. */
  async add(branch: BranchRow, attach: Attach): Promise<BranchState> {
    this.#states.set(branch.uuid, this.#firstState(branch));
    try {
      await attach(branchAttachment(branch));
    } catch (error) {
      this.#states.delete(branch.uuid);
      throw error;
    }
    this.#goLive(branch.uuid);
    return this.#states.get(branch.uuid) ?? this.#firstState(branch);
  }

  delete(uuid: string): void {
    this.#states.delete(uuid);
  }

  /** Elements that write locally never report a status: their branches are live when frames flow. */
  noteFlowing(): void {
    for (const uuid of this.#states.keys()) this.#goLive(uuid);
  }

  handle(report: AttachmentReport): void {
    const state = this.#states.get(report.attachment);
    if (state !== undefined) this.#states.set(state.uuid, { ...state, ...statusOf(report) });
  }

  endRun(): void {
    for (const state of this.#states.values()) this.#states.set(state.uuid, this.#firstState(state));
  }

  #goLive(uuid: string): void {
    const state = this.#states.get(uuid);
    if (state?.status === "starting") this.#states.set(uuid, { ...state, status: "live" });
  }

  #firstState(branch: BranchRow): BranchState {
    const { uuid, slot, params, attachedAt } = branch;
    const isOffered = this.isOffered(branch);
    return {
      ...{ uuid, slot, params, attachedAt, framesSent: 0, framesDropped: 0 },
      status: isOffered ? "starting" : "failed",
      detail: isOffered ? null : `the graph no longer has a slot "${slot}"; detach this branch`,
    };
  }
}

/** Expendable: a fault in it removes the branch and does not end the runner. */
const branchAttachment = ({ uuid: id, slot, params }: BranchRow): Attachment => ({
  ...{ id, slot, params, isExpendable: true, isExternal: true },
});
