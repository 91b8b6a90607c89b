/** The contract of a courier: how parcels get to receivers of one kind. One file a kind, and its name in outbox.ts. */
import type { Config } from "../../schemas/config.ts";
import type { Target } from "./delivery.ts";

export type CourierConfig = Pick<Config, "delivery" | "network">;

export interface Sendable {
  readonly id: string;
  /** The same bytes every time. */
  readonly body: string;
}

/** Why a parcel did not arrive. */
export interface DeliveryFault {
  /** For people, nothing secret in it. */
  readonly reason: string;
  /** What HTTP answered. */
  readonly status?: number;
  /** The receiver asks not to be tried sooner. */
  readonly retryMs?: number;
  /** The receiver wants nothing more, ever. */
  readonly isFinal?: boolean;
}

export interface Sending<P extends Sendable> {
  readonly signal: AbortSignal;
  /** The last attempt failed: one first, and the others when that has arrived. */
  readonly isCareful: boolean;
  /** In order. HTTP says with which status. */
  onDelivered(parcel: P, status: number | null): void;
}

export interface Courier<T extends Target = Target> {
  /** So many at a time. */
  readonly most: number;
  /** In this order. Null when all have arrived, else what became of the first that has not. Rejects for faults of its own. */
  send<P extends Sendable>(target: T, parcels: readonly P[], sending: Sending<P>): Promise<DeliveryFault | null>;
  close(): Promise<void>;
}
