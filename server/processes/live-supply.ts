/** Values of live properties that others supply, such as the rules of alerts: every run begins with them, and follows them. */
import { isDeepStrictEqual } from "node:util";
import { type LiveValues, mergeLive } from "../../schemas/live-values.ts";

export interface SuppliedValues {
  /** Before each run: the moment to find out. Never rejects, and never takes long. */
  prepare(): Promise<void>;
  readonly live: LiveValues;
}

export class LiveSupply {
  readonly #suppliers: SuppliedValues[] = [];
  /** What the runner of the present run has. */
  #told: LiveValues = {};

  add(supplier: SuppliedValues): void {
    this.#suppliers.push(supplier);
  }

  async prepare(): Promise<void> {
    await Promise.all(this.#suppliers.map((supplier) => supplier.prepare()));
  }

  /** What the next run begins with. */
  beginRun(): LiveValues {
    this.#told = this.#live;
    return this.#told;
  }

  /** `set` is called only where something has changed. Rejects when it does: then it is tried again with the next change. */
  async sync(set: (nodes: LiveValues) => Promise<void>): Promise<void> {
    const live = this.#live;
    if (isDeepStrictEqual(live, this.#told)) return;
    await set(live);
    this.#told = live;
  }

  get #live(): LiveValues {
    return this.#suppliers.reduce((all, { live }) => mergeLive(all, live), {} as LiveValues);
  }
}
