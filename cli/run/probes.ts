/** --probe prints the buffers that leave a node, --snapshot saves a frame as an image file. */

import { writePicture } from "../../elements/snapshot/picture-file.ts";
import type { PlanSegment } from "../../graphs/compiler/plan.ts";
import type { Pipeline, TappedBuffer } from "../../native/pipeline.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { toMilliseconds } from "../../schemas/time.ts";
import { UsageFault } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import type { Reporter } from "./reporter.ts";
import type { SnapshotRequest } from "./settings.ts";

/** The node of that name, or the last node of the step of that name. */
export function findNode(name: string, segments: readonly PlanSegment[]): string | undefined {
  const nodes = segments.flatMap((segment) => segment.nodes);
  return (nodes.find((node) => node.name === name) ?? nodes.findLast((node) => node.author === name))?.name;
}

export function expectNode(option: string, name: string, segments: readonly PlanSegment[]): string {
  const found = findNode(name, segments);
  if (found !== undefined) return found;
  const nodes = segments.flatMap((segment) => segment.nodes);
  const steps = [...new Set(nodes.map((node) => node.author))];
  const inside = nodes.map((node) => node.name).filter((node) => !steps.includes(node));
  throw new UsageFault(
    [
      `--${option}: the graph has no node "${name}"${didYouMean(name, [...steps, ...inside])}`,
      `  steps: ${steps.join(", ")}`,
      ...(inside.length === 0 ? [] : [`  nodes in steps: ${inside.join(", ")}`]),
    ].join("\n"),
  );
}

/** Bytes buffered for a slow reader; further buffers are counted instead of printed. */
const MOST_WAITING_BYTES = 1_000_000;

export function tapNodes(
  names: readonly string[],
  pipeline: Pipeline,
  segments: readonly PlanSegment[],
  terminal: Terminal,
): void {
  for (const name of names) {
    const node = findNode(name, segments);
    if (node === undefined) continue;
    let lost = 0;
    let caps: string | null = null;
    pipeline.tap(node, (buffer) => {
      lost += buffer.lost;
      if (terminal.backlog > MOST_WAITING_BYTES) {
        lost += 1;
        return;
      }
      void terminal.print(formatBuffer(name, buffer, buffer.caps === caps ? null : buffer.caps, lost));
      caps = buffer.caps;
      lost = 0;
    });
  }
}

/** `caps` is null if they have not changed. */
function formatBuffer(probe: string, buffer: TappedBuffer, caps: string | null, lost: number): string {
  return JSON.stringify({
    probe,
    pts_ms: buffer.ptsNs === null ? null : toMilliseconds(buffer.ptsNs),
    duration_ms: buffer.durationNs === null ? null : toMilliseconds(buffer.durationNs),
    bytes: buffer.bytes,
    keyframe: buffer.keyframe,
    ...(buffer.discontinuity && { discontinuity: true }),
    ...(lost > 0 && { lost }),
    ...(caps !== null && { caps }),
    ...(Object.keys(buffer.meta).length > 0 && { meta: buffer.meta }),
  });
}

interface Pending {
  readonly order: SnapshotRequest;
  state: "waiting" | "taken" | "failed";
  writing: Promise<void>;
}

export class Snapshots {
  readonly #pending: readonly Pending[];
  readonly #reporter: Reporter;

  constructor(orders: readonly SnapshotRequest[], reporter: Reporter) {
    this.#pending = orders.map((order) => ({ order, state: "waiting", writing: Promise.resolve() }));
    this.#reporter = reporter;
  }

  /** Requests the frames that were not taken yet. */
  place(pipeline: Pipeline, segments: readonly PlanSegment[]): void {
    for (const pending of this.#pending) {
      const { node: name, atNs, type } = pending.order;
      const node = findNode(name, segments);
      if (pending.state !== "waiting" || node === undefined) continue;
      pipeline.grab(node, atNs, type).then(
        ({ image, ptsNs }) => {
          if (pending.state !== "waiting") return;
          pending.state = "taken";
          pending.writing = this.#save(pending, image, ptsNs);
        },
        (error: Error) => this.#fail(pending, `${error.message.replace(/\.$/, "")} (snapshots need decoded video)`),
      );
    }
  }

  /** Resolves with whether all were written; reports those that were not. */
  async finish(): Promise<boolean> {
    await Promise.all(this.#pending.map(({ writing }) => writing));
    for (const pending of this.#pending)
      if (pending.state === "waiting")
        this.#fail(pending, `${pending.order.node} produced no frame at or after ${inSeconds(pending.order.atNs)}`);
    return this.#pending.every(({ state }) => state === "taken");
  }

  async #save(pending: Pending, image: Uint8Array, ptsNs: bigint | null): Promise<void> {
    const { node, file } = pending.order;
    try {
      await writePicture(file, image);
      const at = ptsNs === null ? "" : ` at ${inSeconds(ptsNs)}`;
      this.#reporter.note(`snapshot: ${node}${at} saved to ${file}`, {
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
