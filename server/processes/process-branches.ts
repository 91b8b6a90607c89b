/** Slots that clients have attached to a process: attached in every run, each with its status in the present one. */
import { maskCredentials } from "../../schemas/mask.ts";
import type { RunnerJob, RunnerMessage } from "../../schemas/runner.ts";
import type { BranchRow } from "../store/outputs.ts";

type Report = RunnerMessage & { type: "attachment" };
type Attachment = RunnerJob["attach"][number];

export interface BranchState
  extends Omit<BranchRow, "params">,
    Pick<Report, "status" | "detail" | "framesSent" | "framesDropped"> {
  readonly params: BranchRow["params"];
}

export class ProcessBranches {
  readonly #slots: Readonly<Record<string, unknown>>;
  readonly #states = new Map<string, BranchState>();

  /** `slots` of the graph as it is now: the operator may have changed it since a branch was attached. */
  constructor(branches: readonly BranchRow[], slots: Readonly<Record<string, unknown>>) {
    this.#slots = slots;
    for (const branch of branches) this.#states.set(branch.uuid, this.#firstState(branch));
  }

  has(uuid: string): boolean {
    return this.#states.has(uuid);
  }

  get states(): readonly BranchState[] {
    return [...this.#states.values()];
  }

  /** What a run begins with. */
  get attachments(): readonly Attachment[] {
    return this.states.filter(({ slot }) => Object.hasOwn(this.#slots, slot)).map(attachmentOf);
  }

  /** One more. `attach` does it; when it rejects, nothing is left of it. */
  async add(branch: BranchRow, attach: (attachment: Attachment) => Promise<void>): Promise<void> {
    this.#states.set(branch.uuid, this.#firstState(branch));
    try {
      await attach(attachmentOf(branch));
      this.noteFlowing(branch.uuid);
    } catch (error) {
      this.#states.delete(branch.uuid);
      throw error;
    }
  }

  delete(uuid: string): void {
    this.#states.delete(uuid);
  }

  /** Frames flow: what has reported nothing else is live. Elements that write locally never report anything. */
  noteFlowing(uuid?: string): void {
    for (const state of this.#states.values())
      if (state.status === "starting" && (uuid === undefined || uuid === state.uuid))
        this.#states.set(state.uuid, { ...state, status: "live" });
  }

  hear({ attachment, status, detail, framesSent, framesDropped }: Report): void {
    const state = this.#states.get(attachment);
    if (state === undefined) return;
    const shown = detail === null ? null : maskCredentials(detail);
    this.#states.set(attachment, { ...state, status, detail: shown, framesSent, framesDropped });
  }

  endRun(): void {
    for (const state of this.#states.values()) this.#states.set(state.uuid, this.#firstState(state));
  }

  #firstState({ uuid, slot, params, attachedAt }: BranchRow): BranchState {
    const isThere = Object.hasOwn(this.#slots, slot);
    return {
      ...{ uuid, slot, params, attachedAt, framesSent: 0, framesDropped: 0 },
      status: isThere ? "starting" : "failed",
      detail: isThere ? null : `the graph has no slot "${slot}" any more; detach this branch`,
    };
  }
}

/** A fault in it takes it out and nothing else. */
const attachmentOf = ({ uuid, slot, params }: BranchRow): Attachment => ({
  ...{ id: uuid, slot, params, isExpendable: true },
});
