/** Processes that this machine has claimed and does not run yet: each is taken up as soon as that can be done. */
import type { Logger } from "pino";
import { Semaphore } from "../async/semaphore.ts";
import { type Claim, type ProcessRow, type RenewedClaim, releaseClaim } from "../store/processes.ts";
import { type AdoptionNeeds, adopt } from "./adoption.ts";
import type { ProcessParts } from "./process-parts.ts";

export interface OrphanNeeds extends AdoptionNeeds {
  readonly log: Logger;
  /** It runs from now on. */
  take(parts: ProcessParts): void;
}

/** Each asks the database several times and has a graph compiled: all at once would crowd out what clients ask for. */
const AT_ONCE = 4;

export class Orphans {
  readonly #needs: OrphanNeeds;
  readonly #rows = new Map<string, ProcessRow>();
  readonly #adopting = new Map<string, Promise<void>>();
  readonly #slots = new Semaphore(AT_ONCE);
  readonly #closing = new AbortController();

  constructor(needs: OrphanNeeds) {
    this.#needs = needs;
  }

  get claims(): readonly Claim[] {
    return [...this.#rows.values()];
  }

  add(row: ProcessRow): void {
    this.#rows.set(row.uuid, row);
  }

  forget(uuid: string): void {
    this.#rows.delete(uuid);
  }

  /** Of the claims that were to be renewed, those that were: others are not ours any more. */
  heed(claims: readonly Claim[], renewed: ReadonlyMap<string, RenewedClaim>): void {
    for (const { uuid, fence } of claims) {
      const row = this.#rows.get(uuid);
      if (row?.fence !== fence) continue;
      const desired = renewed.get(uuid)?.desired;
      if (desired === undefined) this.forget(uuid);
      else if (desired !== row.desired) this.add({ ...row, desired });
    }
  }

  /** Resolves when each has been tried; those that cannot be taken up yet stay. */
  async adoptAll(): Promise<void> {
    await Promise.all([...this.#rows.values()].map((row) => this.#adoptOnce(row)));
  }

  /** None is taken up any more; who comes next may have them at once. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#adopting.values());
  }

  /** Once nothing is claimed any more. */
  async release(): Promise<void> {
    const { sql, log } = this.#needs;
    const rows = [...this.#rows.values()];
    this.#rows.clear();
    await Promise.all(
      rows.map((row) => releaseClaim(sql, row).catch((error) => log.warn({ err: error }, "a claim is not released"))),
    );
  }

  #adoptOnce(row: ProcessRow): Promise<void> {
    const underWay = this.#adopting.get(row.uuid);
    if (underWay !== undefined) return underWay;
    const adopting = this.#adopt(row).finally(() => this.#adopting.delete(row.uuid));
    this.#adopting.set(row.uuid, adopting);
    return adopting;
  }

  async #adopt(row: ProcessRow): Promise<void> {
    const log = this.#needs.log.child({ process: row.uuid });
    const leave = await this.#slots.acquire(this.#closing.signal);
    try {
      if (!this.#isWanted(row)) return;
      const parts = await adopt(row, this.#needs);
      // Ended, or wished to, in the meantime.
      if (!this.#isWanted(row)) return parts?.input.release?.();
      this.forget(row.uuid);
      if (parts === null) return;
      log.info("a process that should run is taken up");
      this.#needs.take(parts);
    } catch (error) {
      log.warn({ err: error }, "a process could not be taken up; it is tried again");
    } finally {
      leave();
    }
  }

  #isWanted(row: ProcessRow): boolean {
    return !this.#closing.signal.aborted && this.#rows.get(row.uuid) === row;
  }
}
