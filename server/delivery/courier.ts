/** The contract of a courier, which sends deliveries to destinations of one kind. A new kind: its courier, and its name in outbox.ts. */
import type { Config } from "../../schemas/config.ts";
import type { Delivery } from "../store/deliveries.ts";
import type { Target } from "../store/destinations.ts";

/** Of every receiver; an operator sets the others (`delivery`). */
export const LIMITS = {
  /** Maximum size of a notification; a larger one is dropped and counted. */
  bodyBytes: 1_048_576,
  /** Maximum number of notifications per topic that the broker has not acknowledged. */
  inFlight: 100,
  /** Timeout of connecting to a receiver. */
  connectSeconds: 5,
  /** Timeout of a webhook's response, and of a broker's acknowledgement. */
  answerSeconds: 15,
  /** Maximum number of bytes to read from a webhook's response. */
  answerBytes: 65_536,
  /** MQTT keep-alive interval. */
  keepaliveSeconds: 15,
  /** Idle time after which a broker is disconnected. */
  idleMs: 30_000,
  /** Delay before the first retry for an unreachable receiver; doubles with every retry up to `retry_most_seconds`. */
  retryFirstMs: 500,
  /** Lease of a receiver; afterwards another machine takes over. */
  leaseSeconds: 15,
  /** Interval for taking over receivers of other machines, and for trimming the queues of keys. */
  lookMs: 10_000,
};
export type DeliveryLimits = Readonly<typeof LIMITS>;

export interface CourierOptions {
  readonly config: Pick<Config, "delivery" | "network" | "smtp">;
  readonly limits: DeliveryLimits;
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
  /** The receiver will never accept this delivery: it is dropped. */
  readonly isRejected?: boolean;
}

export interface SendOptions {
  /** Of the destination. */
  readonly userUuid: string;
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
  /** How many bytes of them. Default: a megabyte. */
  readonly batchBytes?: number;
  /** It sends all that it is given as one message. */
  readonly isCombining?: boolean;
  /**
   * Sends them in this order. Resolves with null when all were delivered or `isOver`, else with why the first of the others
   * was not. Rejects for internal errors.
   */
  send(target: Target, deliveries: readonly Sent[], options: SendOptions): Promise<DeliveryFailure | null>;
  close(): void;
}
