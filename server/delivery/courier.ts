/** The contract of a courier, which sends deliveries to destinations of one kind. A new kind: its courier, and its name in outbox.ts. */
import type { Config } from "../../schemas/config.ts";
import type { Delivery } from "../store/deliveries.ts";
import type { Target } from "../store/destinations.ts";

export interface CourierOptions {
  readonly config: Pick<Config, "delivery" | "network">;
  /** Shown to receivers. */
  readonly softwareVersion: string;
  /** Certificates to trust instead of the public ones. */
  readonly authorities?: string;
}

export type Sent = Pick<Delivery, "id" | "body">;

export interface DeliveryFailure {
  /** For the user, without secrets. */
  readonly reason: string;
  /** The receiver asks to wait at least this long. */
  readonly retryMs?: number;
  /** The receiver wants no more deliveries. */
  readonly isFinal?: boolean;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** The last attempt failed: sends one first, and the others when it was delivered. */
  readonly isCareful: boolean;
  /** Starts no further delivery when true. */
  isOver(): boolean;
  /** Called in order, for each. */
  onDelivered(): void;
}

export interface Courier {
  /** How many deliveries it is given at once. */
  readonly batchSize: number;
  /**
   * Sends them in this order. Resolves with null when all were delivered or `isOver`, else with why the first of the others
   * was not. Rejects for internal errors.
   */
  send(target: Target, deliveries: readonly Sent[], options: SendOptions): Promise<DeliveryFailure | null>;
  close(): void;
}
