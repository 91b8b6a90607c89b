/** What this server has delivered since it began, for Prometheus. */
import type { Target } from "./delivery.ts";

export interface DeliveryCount {
  readonly attempts: number;
  readonly failures: number;
  readonly delivered: number;
  readonly dropped: number;
}

/** With what the database knows of; null while that is away. */
export interface DeliveryReading extends DeliveryCount {
  readonly kind: Target["kind"];
  readonly waiting: number | null;
  readonly destinations: number | null;
  readonly failing: number | null;
}

const NONE: DeliveryCount = { attempts: 0, failures: 0, delivered: 0, dropped: 0 };

export class DeliveryCounts {
  readonly #counts: Record<Target["kind"], DeliveryCount> = { mqtt: NONE, webhook: NONE };

  add(kind: Target["kind"], { attempts = 0, failures = 0, delivered = 0, dropped = 0 }: Partial<DeliveryCount>): void {
    const before = this.#counts[kind];
    this.#counts[kind] = {
      attempts: before.attempts + attempts,
      failures: before.failures + failures,
      delivered: before.delivered + delivered,
      dropped: before.dropped + dropped,
    };
  }

  of(kind: Target["kind"]): DeliveryCount {
    return this.#counts[kind];
  }
}
