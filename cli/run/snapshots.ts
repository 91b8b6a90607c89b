/** --snapshot: frames kept as picture files. */
import { writePicture } from "../../elements/snapshot/picture-file.ts";
import type { PlanSegment } from "../../graphs/compiler/plan.ts";
import type { Pipeline } from "../../native/pipeline.ts";
import { toMilliseconds } from "../../schemas/time.ts";
import { findNode } from "./places.ts";
import type { Reporter } from "./reporter.ts";
import type { SnapshotOrder } from "./settings.ts";

interface Pending {
  readonly order: SnapshotOrder;
  state: "waiting" | "taken" | "failed";
  writing: Promise<void>;
}

export class Snapshots {
  readonly #pending: readonly Pending[];
  readonly #reporter: Reporter;

  constructor(orders: readonly SnapshotOrder[], reporter: Reporter) {
    this.#pending = orders.map((order) => ({ order, state: "waiting", writing: Promise.resolve() }));
    this.#reporter = reporter;
  }

  /** Asks the pipeline for what is still wanted. */
  place(pipeline: Pipeline, segments: readonly PlanSegment[]): void {
    for (const pending of this.#pending) {
      const { node: name, atNs, type } = pending.order;
      const node = findNode(name, segments);
      if (pending.state !== "waiting" || node === undefined) continue;
      pipeline.grab(node, atNs, type).then(
        ({ image, ptsNs }) => {
          if (pending.state !== "waiting") return;
          pending.state = "taken";
          pending.writing = this.#keep(pending, image, ptsNs);
        },
        (error: Error) =>
          this.#fail(pending, `${error.message.replace(/\.$/, "")} (pictures can be taken of decoded video alone)`),
      );
    }
  }

  /** Resolves with whether all of them are there; says which are not. */
  async finish(): Promise<boolean> {
    await Promise.all(this.#pending.map(({ writing }) => writing));
    for (const pending of this.#pending)
      if (pending.state === "waiting")
        this.#fail(pending, `${pending.order.node} gave no frame at or after ${inSeconds(pending.order.atNs)}`);
    return this.#pending.every(({ state }) => state === "taken");
  }

  async #keep(pending: Pending, image: Uint8Array, ptsNs: bigint | null): Promise<void> {
    const { node, file } = pending.order;
    try {
      await writePicture(file, image);
      const at = ptsNs === null ? "" : ` at ${inSeconds(ptsNs)}`;
      this.#reporter.note(`snapshot: ${node}${at} is in ${file}`, {
        type: "snapshot",
        node,
        file,
        pts_ms: ptsNs === null ? null : toMilliseconds(ptsNs),
      });
    } catch (error) {
      pending.state = "waiting";
      this.#fail(pending, (error as Error).message);
    }
  }

  #fail(pending: Pending, reason: string): void {
    if (pending.state === "failed") return;
    pending.state = "failed";
    const { node, file } = pending.order;
    this.#reporter.error(`snapshot: ${file} was not written: ${reason}`, {
      type: "snapshot",
      node,
      file,
      error: reason,
    });
  }
}

const inSeconds = (ns: bigint): string => `${Number((Number(ns) / 1e9).toFixed(3))} s`;
