/** The attachments (dynamic branches) of a running graph, and their status messages to the server. */
import { isDeepStrictEqual } from "node:util";
import type { ElementEvent, OutputEvent } from "../../../elements/element.ts";
import type { Pipeline } from "../../../native/pipeline.ts";
import type { RunnerMessage } from "../../../schemas/runner.ts";
import type { PlanSegment } from "../../compiler/plan.ts";

type StatusMessage = RunnerMessage & { type: "attachment" };
type Meters = Pick<Pipeline, "meter" | "meters">;

type OutputStatus = Pick<OutputEvent, "status" | "detail" | "framesSent" | "framesDropped">;

const DEFAULT_STATUS: OutputStatus = { status: "live", detail: null, framesSent: 0, framesDropped: 0 };

interface Attachment {
  readonly id: string;
  readonly segment: string;
  /** Names of the meters of its queues. */
  meters: readonly string[];
  /** Frames that its queues dropped because the branch is too slow. */
  queueDrops: number;
  status: OutputStatus | null;
  sent: StatusMessage | null;
}

export class Attachments {
  readonly #notify: (message: StatusMessage) => void;
  /** By the server's id of the attachment. */
  readonly #attached = new Map<string, Attachment>();
  #pipeline: Meters | null = null;

  constructor(notify: (message: StatusMessage) => void) {
    this.#notify = notify;
  }

  has(id: string): boolean {
    return this.#attached.has(id);
  }

  /** The name of its segment. */
  segmentOf(id: string): string | null {
    return this.#attached.get(id)?.segment ?? null;
  }

  /** Called before its elements are created, so that no event is missed. */
  add(id: string, segment: string): void {
    this.#attached.set(id, { id, segment, meters: [], queueDrops: 0, status: null, sent: null });
  }

  delete(id: string): void {
    this.#attached.delete(id);
  }

  /** Meters all attachments of a pipeline that is about to play. */
  onBuilt(pipeline: Meters, segments: readonly PlanSegment[]): void {
    this.#pipeline = pipeline;
    this.meterAll(segments);
  }

  /** Branches may have been attached again. */
  meterAll(segments: readonly PlanSegment[]): void {
    for (const { id } of this.#attached.values()) this.meter(id, segments);
  }

  /** Meters the queues of an attachment that is in the pipeline now. */
  meter(id: string, segments: readonly PlanSegment[]): void {
    const attachment = this.#attached.get(id);
    const segment = segments.find(({ name }) => name === attachment?.segment);
    if (attachment === undefined || segment === undefined) return;
    attachment.queueDrops = 0;
    attachment.meters = segment.nodes.flatMap(({ name, factory }) => {
      if (factory !== "queue") return [];
      this.#pipeline?.meter(`attachment ${name}`, name, name);
      return [`attachment ${name}`];
    });
  }

  /** Notifies at once of a change of status. Returns false when the event is not from an attachment. */
  onElementEvent(node: string, event: ElementEvent): boolean {
    if (event.type !== "output") return false;
    const attachment = [...this.#attached.values()].find(({ segment }) => node.startsWith(`${segment}/`));
    if (attachment === undefined) return false;
    const { status, detail, framesSent, framesDropped } = event as OutputEvent;
    attachment.status = { status, detail, framesSent, framesDropped };
    const { sent } = attachment;
    if (sent?.status !== status || sent.detail !== detail) this.#notifyOf(attachment);
    return true;
  }

  /** Its branch was dropped; the attachment stays registered until it is detached. */
  fail(segment: string, detail: string): void {
    const attachment = [...this.#attached.values()].find((each) => each.segment === segment);
    if (attachment === undefined) return;
    attachment.status = { ...(attachment.status ?? DEFAULT_STATUS), status: "failed", detail };
    this.#notifyOf(attachment);
  }

  /** Sends the status of attachments whose counters changed. */
  notifyChanged(): void {
    for (const attachment of this.#attached.values()) this.#notifyOf(attachment);
  }

  close(): void {
    this.#pipeline = null;
  }

  #notifyOf(attachment: Attachment): void {
    const queueDrops = this.#countQueueDrops(attachment);
    // A branch that writes a file has no status of its own, but its queues may drop frames.
    if (attachment.status === null && queueDrops === 0) return;
    const status = attachment.status ?? DEFAULT_STATUS;
    const framesDropped = status.framesDropped + queueDrops;
    const message: StatusMessage = { type: "attachment", attachment: attachment.id, ...status, framesDropped };
    if (isDeepStrictEqual(message, attachment.sent)) return;
    attachment.sent = message;
    this.#notify(message);
  }

  /** Keeps the last count when the branch is already removed. */
  #countQueueDrops(attachment: Attachment): number {
    const readings = Object.values(this.#pipeline?.meters(attachment.meters) ?? {});
    const dropped = readings.reduce((sum, reading) => sum + reading.dropped, 0);
    attachment.queueDrops = Math.max(attachment.queueDrops, dropped);
    return attachment.queueDrops;
  }
}
