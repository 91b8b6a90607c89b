/**
 * Finds receivers for which something is due, claims them and gives each its turn. One timer for all of them: a thousand
 * that are away cost a row each and nothing more.
 */
import type { Logger } from "pino";
import { Poller } from "../async/poller.ts";
import { withTimeout } from "../async/timing.ts";
import { Lease } from "../processes/claims.ts";
import type { Sql } from "../store/client.ts";
import {
  type ClaimedDestination,
  claimDestinations,
  type FreePlaces,
  findNextWakeMs,
  freeLeases,
  renewLeases,
} from "../store/destinations.ts";
import type { Courier, CourierConfig } from "./courier.ts";
import type { Target } from "./delivery.ts";
import type { DeliveryCounts } from "./delivery-counts.ts";
import type { Receipts } from "./receipts.ts";
import { takeTurn } from "./turn.ts";

export interface DispatcherNeeds {
  readonly sql: Sql;
  readonly config: CourierConfig["delivery"];
  readonly log: Logger;
  readonly nodeUuid: string;
  readonly couriers: Readonly<Record<Target["kind"], Courier>>;
  readonly receipts: Receipts;
  readonly counts: DeliveryCounts;
}

/** Between two looks, however often it is woken. */
const GAP_MS = 5;
/** Of the places; the others are for receivers that failed, so that those that hang take no place of those that do not. */
const HEALTHY_SHARE = 3 / 4;
/** At the shut-down, for what is under way. */
const GRACE_MS = 1_500;

interface Turn {
  readonly destination: ClaimedDestination;
  readonly done: Promise<void>;
}

export class Dispatcher {
  readonly #needs: DispatcherNeeds;
  readonly #turns = new Map<string, Turn>();
  readonly #lease: Lease;
  readonly #renewing: Poller;
  /** Aborted when what is claimed may be another's. */
  #holding = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  /** Woken while it looked: what is new may have been missed. */
  #isStale = false;
  #isClosed = false;

  constructor(needs: DispatcherNeeds) {
    this.#needs = needs;
    const leaseMs = needs.config.lease_seconds * 1000;
    this.#lease = new Lease(leaseMs, () => this.#loseAll());
    this.#renewing = new Poller(async () => {
      await this.#renew();
      return leaseMs / 4;
    });
    this.#renewing.start(leaseMs / 4);
    this.#lookAfter(0);
  }

  wake(): void {
    if (this.#looking === null) this.#lookAfter(GAP_MS);
    else this.#isStale = true;
  }

  /** Nothing is sent any more once this resolves, and others may deliver. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const turns = Promise.allSettled([...this.#turns.values()].map(({ done }) => done));
    await withTimeout(GRACE_MS, turns);
    this.#holding.abort();
    await withTimeout(GRACE_MS, turns);
    await this.#renewing.close();
    this.#lease.close();
  }

  /** Afterwards, when all that was delivered is written down. */
  free(): Promise<void> {
    return freeLeases(this.#needs.sql, this.#needs.nodeUuid);
  }

  #lookAfter(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isStale = false;
      this.#looking = this.#look().then((nextMs) => {
        this.#looking = null;
        this.#lookAfter(this.#isStale ? GAP_MS : nextMs);
      });
    }, ms);
  }

  /** Resolves with the milliseconds until the next look; never rejects. */
  async #look(): Promise<number> {
    const { sql, config, nodeUuid, log } = this.#needs;
    const latestMs = config.look_seconds * 1000;
    const places = { mqtt: this.#countPlaces("mqtt"), webhook: this.#countPlaces("webhook") };
    // The end of a turn wakes.
    if (Object.values(places).every(({ healthy, failing }) => healthy + failing === 0)) return latestMs;
    try {
      const askedMs = performance.now();
      const claimer = { nodeUuid, leaseSeconds: config.lease_seconds };
      const claimed = await claimDestinations(sql, claimer, places);
      if (claimed.length > 0 && this.#turns.size === 0) this.#lease.renew(askedMs);
      for (const destination of claimed) this.#begin(destination);
      if (claimed.length > 0) return GAP_MS;
      const nextMs = (await findNextWakeMs(sql)) ?? latestMs;
      // Due, and not to be had: no place is free, or somebody writes to it just now.
      return nextMs <= 0 ? Math.min(latestMs, 20 * GAP_MS) : Math.min(latestMs, nextMs + 1);
    } catch (error) {
      log.warn({ err: error }, "what is to be delivered cannot be looked for; it is tried again");
      return latestMs;
    }
  }

  #countPlaces(kind: Target["kind"]): FreePlaces {
    const { at_once } = this.#needs.config;
    const healthy = Math.max(1, Math.floor(at_once * HEALTHY_SHARE));
    const taken = [...this.#turns.values()].filter(({ destination }) => destination.target.kind === kind);
    const failing = taken.filter(({ destination }) => destination.failures > 0).length;
    return {
      healthy: Math.max(0, healthy - (taken.length - failing)),
      failing: Math.max(0, at_once - healthy - failing),
    };
  }

  #begin(destination: ClaimedDestination): void {
    const { log, couriers, ...needs } = this.#needs;
    const { uuid, target } = destination;
    const done = takeTurn(destination, {
      ...{ ...needs, log, courier: couriers[target.kind], signal: this.#holding.signal },
      isOver: () => this.#isClosed,
    })
      .catch((error: unknown) => log.warn({ destination: uuid, err: error }, "a delivery was broken off"))
      .finally(() => {
        this.#turns.delete(uuid);
        this.wake();
      });
    this.#turns.set(uuid, { destination, done });
  }

  async #renew(): Promise<void> {
    const { sql, config, nodeUuid, log } = this.#needs;
    const askedMs = performance.now();
    try {
      await renewLeases(sql, { nodeUuid, leaseSeconds: config.lease_seconds }, [...this.#turns.keys()]);
      this.#lease.renew(askedMs);
    } catch (error) {
      log.warn({ err: error }, "receivers could not be kept; it is tried again");
    }
  }

  #loseAll(): void {
    if (this.#turns.size > 0)
      this.#needs.log.warn("the database has been silent for too long: deliveries are broken off");
    this.#holding.abort();
    this.#holding = new AbortController();
  }
}
