/** Runs inference on frames: fills tensors from their planes, infers, and maps the candidates back to the frame. */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Model } from "../../models/open.ts";
import { type Change, countChanged } from "../../vision/picture-change.ts";
import type { Frame, TensorGeometry, TensorOrder } from "../element.ts";
import type { Inference } from "./inference.ts";
import { type Found, mergeRegions, placeCandidates } from "./objects.ts";
import type { DetectionFilter, DetectRequest, Region } from "./request.ts";

/** A slot that holds the tensor of a region, and the mapping back to the frame. */
export interface FilledSlot {
  readonly slot: number;
  readonly geometry: TensorGeometry;
}

export class FrameInference {
  readonly #inference: Inference;
  readonly #order: TensorOrder;
  readonly #pool: SlotPool;
  readonly #slots: Inference["slots"];
  /** Of requests for moving regions: the last result of each, in pixels of the frame. */
  #kept = new Map<Region, Candidates>();

  constructor(inference: Inference, { card }: Model) {
    const { type, mean, std, ...order } = card.input;
    this.#inference = inference;
    this.#order = { ...order, ...(type === "float32" && { ...(mean && { mean }), ...(std && { std }) }) };
    this.#slots = inference.slots;
    this.#pool = new SlotPool(this.#slots.length);
  }

  /** Waits for a free slot. Pass the result to `infer` or `drop`. Rejects with the signal's reason. */
  async fill(frame: Frame, region: Region, signal?: AbortSignal): Promise<FilledSlot> {
    const slot = await this.#pool.acquire();
    const target = this.#slots[slot];
    try {
      signal?.throwIfAborted();
      if (target === undefined) throw new Error(`there is no slot ${slot}`);
      return { slot, geometry: await frame.tensor(target, { ...this.#order, region }) };
    } catch (error) {
      this.#pool.release(slot);
      throw error;
    }
  }

  drop({ slot }: FilledSlot): void {
    this.#pool.release(slot);
  }

  /** The regions to infer, given what has changed since the frames of their results; null: everything. */
  choose({ regions, onlyMoving }: DetectRequest, change: Change | null): readonly Region[] {
    if (!onlyMoving || change === null) return regions;
    return regions.filter((region) => !this.#kept.has(region) || countChanged(change, region) > 0);
  }

  /**
   * Candidates in pixels of the frame: of the chosen regions, with what was found before in the others. `first` is the
   * first of them, if already filled. After the first lost inference no further region is filled: a partial result is
   * useless.
   */
  async infer(
    frame: Frame,
    request: DetectRequest,
    chosen: readonly Region[] = request.regions,
    first?: FilledSlot,
  ): Promise<Found> {
    const candidates = await this.#inferChosen(frame, request, chosen, first);
    return { ...candidates, inferred: chosen.length };
  }

  async #inferChosen(
    frame: Frame,
    request: DetectRequest,
    chosen: readonly Region[],
    first: FilledSlot | undefined,
  ): Promise<Candidates> {
    const { regions, filter } = request;
    const lists = await this.#inferRegions(frame, chosen, filter, first);
    if (!request.onlyMoving) return mergeRegions(lists, chosen, frame.format, filter.overlap);
    const found = new Map(chosen.map((region, index) => [region, lists[index] as Candidates]));
    const known = regions.filter((region) => found.has(region) || this.#kept.has(region));
    this.#kept = new Map(known.map((region) => [region, (found.get(region) ?? this.#kept.get(region)) as Candidates]));
    return mergeRegions([...this.#kept.values()], known, frame.format, filter.overlap);
  }

  async #inferRegions(
    frame: Frame,
    regions: readonly Region[],
    filter: DetectionFilter,
    first: FilledSlot | undefined,
  ): Promise<readonly Candidates[]> {
    const running: Promise<Candidates>[] = [];
    const lost = new AbortController();
    try {
      for (const [index, region] of regions.entries()) {
        const filled = index === 0 && first !== undefined ? first : await this.fill(frame, region, lost.signal);
        const inferring = this.#inferSlot(filled, filter, frame.ptsNs, lost);
        inferring.catch(() => {}); // awaited below, but possibly after it rejects
        running.push(inferring);
      }
    } catch (error) {
      await Promise.allSettled(running);
      throw error;
    }
    return Promise.all(running);
  }

  async #inferSlot(
    { slot, geometry }: FilledSlot,
    { minimum, overlap }: DetectionFilter,
    ptsNs: bigint | null,
    lost: AbortController,
  ): Promise<Candidates> {
    try {
      return placeCandidates(await this.#inference.infer(slot, minimum, overlap, ptsNs), geometry);
    } catch (error) {
      lost.abort(error); // before the next waiter acquires the slot
      throw error;
    } finally {
      this.#pool.release(slot);
    }
  }
}

/** Free slots; waiters are served in order. */
export class SlotPool {
  readonly #free: number[];
  readonly #waiting: ((slot: number) => void)[] = [];

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, slot) => slot);
  }

  acquire(): Promise<number> {
    const slot = this.#free.shift();
    if (slot !== undefined) return Promise.resolve(slot);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  release(slot: number): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next(slot);
  }
}
