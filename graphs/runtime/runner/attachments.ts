/** What is attached to a graph while it runs, and how that which sends something away gets on. */
import { isDeepStrictEqual } from "node:util";
import type { ElementEvent } from "../../../elements/element.ts";
import type { Pipeline } from "../../../native/pipeline.ts";
import type { RunnerMessage } from "../../../schemas/runner.ts";
import type { PlanSegment } from "../../compiler/plan.ts";

type Told = RunnerMessage & { type: "attachment" };
type Meters = Pick<Pipeline, "meter" | "meters">;

/** What an element says of its way out: the event `output`. */
type Said = Pick<Told, "status" | "detail" | "framesSent" | "framesDropped">;

const SILENT: Said = { status: "live", detail: null, framesSent: 0, framesDropped: 0 };

interface Attachment {
  readonly id: string;
  readonly segment: string;
  /** Names of the meters of its queues. */
  meters: readonly string[];
  /** Frames that its queues have dropped: more came than what follows could take. */
  queueDrops: number;
  said: Said | null;
  told: Told | null;
}

export class Attachments {
  readonly #tell: (message: Told) => void;
  /** By the server's name of the attachment. */
  readonly #attached = new Map<string, Attachment>();
  #pipeline: Meters | null = null;

  constructor(tell: (message: Told) => void) {
    this.#tell = tell;
  }

  has(id: string): boolean {
    return this.#attached.has(id);
  }

  /** The name of its segment. */
  segmentOf(id: string): string | null {
    return this.#attached.get(id)?.segment ?? null;
  }

  /** Before its elements are made, so that their first word is heard. */
  add(id: string, segment: string): void {
    this.#attached.set(id, { id, segment, meters: [], queueDrops: 0, said: null, told: null });
  }

  delete(id: string): void {
    this.#attached.delete(id);
  }

  /** The segments of a pipeline that is about to play. */
  place(pipeline: Meters, segments: readonly PlanSegment[]): void {
    this.#pipeline = pipeline;
    for (const { id } of this.#attached.values()) this.meter(id, segments);
  }

  /** It is in the pipeline now, with these segments. */
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

  /** A change of status is told at once. False: it is not of what is attached. */
  hear(node: string, event: ElementEvent): boolean {
    if (event.type !== "output") return false;
    const attachment = [...this.#attached.values()].find(({ segment }) => node.startsWith(`${segment}/`));
    if (attachment === undefined) return false;
    const { status, detail, framesSent, framesDropped } = event as unknown as Said;
    const { told } = attachment;
    attachment.said = { status, detail, framesSent, framesDropped };
    if (told?.status !== status || told.detail !== detail) this.#tellOf(attachment);
    return true;
  }

  /** Its branch is gone; it stays known until it is detached. */
  fail(segment: string, detail: string): void {
    const attachment = [...this.#attached.values()].find((each) => each.segment === segment);
    if (attachment === undefined) return;
    attachment.said = { ...(attachment.said ?? SILENT), status: "failed", detail };
    this.#tellOf(attachment);
  }

  /** The counts, where they have changed. */
  tell(): void {
    for (const attachment of this.#attached.values()) this.#tellOf(attachment);
  }

  close(): void {
    this.#pipeline = null;
  }

  #tellOf(attachment: Attachment): void {
    const { id, told } = attachment;
    const queueDrops = this.#countQueueDrops(attachment);
    // What is written to a file says nothing of itself; what its queues dropped is told all the same.
    if (attachment.said === null && queueDrops === 0) return;
    const said = attachment.said ?? SILENT;
    const framesDropped = said.framesDropped + queueDrops;
    const message: Told = { type: "attachment", attachment: id, ...said, framesDropped };
    if (isDeepStrictEqual(message, told)) return;
    attachment.told = message;
    this.#tell(message);
  }

  /** Its branch may be gone already: then what was counted stays. */
  #countQueueDrops(attachment: Attachment): number {
    const readings = Object.values(this.#pipeline?.meters(attachment.meters) ?? {});
    const dropped = readings.reduce((sum, reading) => sum + reading.dropped, 0);
    attachment.queueDrops = Math.max(attachment.queueDrops, dropped);
    return attachment.queueDrops;
  }
}
