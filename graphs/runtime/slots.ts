/** The slots (dynamic branches) of a running graph: which are attached, and which the graph may lose. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { PlanSegment } from "../compiler/plan.ts";

export interface SlotRequest {
  readonly slot: string;
  readonly params: JsonRecord;
  /** Names this attachment; default: a number. */
  readonly instance?: string;
  /** A failure in it removes the branch, with the event `dropped`; otherwise it ends the graph. */
  readonly isExpendable?: boolean;
}

export interface SlotInstance extends SlotRequest {
  readonly instance: string;
}

export class Slots {
  /** By the name of their segment. */
  readonly #attached = new Map<string, SlotInstance>();
  readonly #expendable = new Map<string, PlanSegment>();
  /** Expendable segments that are being removed. */
  readonly #failed = new Set<string>();
  #instances = 0;

  nextInstance(): string {
    this.#instances += 1;
    return String(this.#instances);
  }

  instances(): readonly SlotInstance[] {
    return [...this.#attached.values()];
  }

  /** Before the segment is attached: it may fail at once. */
  expect(segment: PlanSegment, isExpendable: boolean, isAttached: boolean): void {
    if (!isAttached) this.#expendable.delete(segment.name);
    if (isExpendable) this.#expendable.set(segment.name, segment);
  }

  add(name: string, instance: SlotInstance): void {
    this.#attached.set(name, instance);
  }

  delete(name: string): void {
    this.#attached.delete(name);
    this.#expendable.delete(name);
  }

  /** Forgets slots whose segments are not in `names`. */
  keep(names: readonly string[]): void {
    for (const name of this.#attached.keys()) if (!names.includes(name)) this.delete(name);
  }

  clear(): void {
    this.#attached.clear();
    this.#expendable.clear();
    this.#instances = 0;
  }

  /** The expendable segment of a native node, marked as failed; `isNew` for its first failure. */
  fail(node: string): { readonly name: string; readonly isNew: boolean } | null {
    const segment = [...this.#expendable.values()].find(({ nodes }) => nodes.some(({ name }) => name === node));
    if (segment === undefined) return null;
    const isNew = !this.#failed.has(segment.name);
    this.#failed.add(segment.name);
    return { name: segment.name, isNew };
  }

  /** A failed segment has been removed, or was not attached. */
  dropped(name: string, wasAttached: boolean): void {
    if (wasAttached) this.#attached.delete(name);
    this.#failed.delete(name);
  }
}
