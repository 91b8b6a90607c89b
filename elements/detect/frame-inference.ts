/** Looks at frames: fills tensors from their planes, has them inferred, and brings what was found back to the frame. */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Model } from "../../models/open.ts";
import type { Frame, TensorGeometry, TensorOrder } from "../element.ts";
import type { Inference } from "./inference.ts";
import { mergeLooks, placeCandidates } from "./objects.ts";
import type { Region, Wanted } from "./request.ts";

/** A slot that holds a part of a frame, and how to get back. */
export interface Filled {
  readonly slot: number;
  readonly geometry: TensorGeometry;
}

export class Looker {
  readonly #inference: Inference;
  readonly #order: TensorOrder;
  readonly #ring: SlotRing;
  readonly #slots: Inference["slots"];

  constructor(inference: Inference, { card }: Model) {
    const { type, mean, std, ...order } = card.input;
    this.#inference = inference;
    this.#order = { ...order, ...(type === "float32" && { ...(mean && { mean }), ...(std && { std }) }) };
    this.#slots = inference.slots;
    this.#ring = new SlotRing(this.#slots.length);
  }

  /** Waits for a free slot. What it gives goes into `look` or `drop`. Rejects with the signal's reason. */
  async fill(frame: Frame, region: Region, signal?: AbortSignal): Promise<Filled> {
    const slot = await this.#ring.take();
    const target = this.#slots[slot];
    try {
      signal?.throwIfAborted();
      if (target === undefined) throw new Error(`there is no slot ${slot}`);
      return { slot, geometry: await frame.tensor(target, { ...this.#order, region }) };
    } catch (error) {
      this.#ring.giveBack(slot);
      throw error;
    }
  }

  drop({ slot }: Filled): void {
    this.#ring.giveBack(slot);
  }

  /**
   * Candidates in pixels of the frame. `first` is the first region, where it has been filled already. After the first
   * inference that is lost nothing more is filled: a part of a frame is no use.
   */
  async look(frame: Frame, regions: readonly Region[], wanted: Wanted, first?: Filled): Promise<Candidates> {
    const looks: Promise<Candidates>[] = [];
    const lost = new AbortController();
    try {
      for (const [index, region] of regions.entries()) {
        const filled = index === 0 && first !== undefined ? first : await this.fill(frame, region, lost.signal);
        const look = this.#infer(filled, wanted, lost);
        look.catch(() => {}); // awaited below, but perhaps not before it fails
        looks.push(look);
      }
    } catch (error) {
      await Promise.allSettled(looks);
      throw error;
    }
    return mergeLooks(await Promise.all(looks), regions, frame.format, wanted.overlap);
  }

  async #infer({ slot, geometry }: Filled, { minimum, overlap }: Wanted, lost: AbortController): Promise<Candidates> {
    try {
      const candidates = await this.#inference.infer(slot, minimum, overlap);
      return placeCandidates(candidates, geometry);
    } catch (error) {
      lost.abort(error); // before whoever waits for the slot has it
      throw error;
    } finally {
      this.#ring.giveBack(slot);
    }
  }
}

/** Which slots are free; whoever finds none waits, in order. */
export class SlotRing {
  readonly #free: number[];
  readonly #waiting: ((slot: number) => void)[] = [];

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, slot) => slot);
  }

  take(): Promise<number> {
    const slot = this.#free.shift();
    if (slot !== undefined) return Promise.resolve(slot);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(slot: number): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next(slot);
  }
}
