/**
 * What the rest of the server may ask of the outbox: notices go in with the transaction that makes them, and come out at
 * their receiver at least once, in order for each destination, whatever is away meanwhile.
 */
import type { JsonRecord } from "../../schemas/json.ts";
import type { Queries } from "../store/client.ts";

export type Target =
  | {
      readonly kind: "mqtt";
      /** `mqtt://host:port` or `mqtts://host:port`, without userinfo. */
      readonly url: string;
      readonly topic: string;
      readonly qos: 0 | 1 | 2;
      readonly username: string | null;
      readonly password: string | null;
    }
  | {
      readonly kind: "webhook";
      readonly url: string;
      /** Of Standard Webhooks: `whsec_` and base64. */
      readonly secret: string;
      /** With userinfo, if any. */
      readonly authUrl: string | null;
    };

/** A receiver: one output of an alert, or one subscription. */
export interface Destination {
  readonly uuid: string;
  readonly userUuid: string;
  readonly target: Target;
}

export interface Parcel {
  /** The same in every copy that the receiver gets. */
  readonly id: string;
  readonly destinationUuid: string;
  /** What is sent, as JSON. */
  readonly body: JsonRecord;
  /** Not sooner, and may be amended until then. Default: at once. */
  readonly dueAt?: Date;
}

export interface DeliveryStanding {
  readonly waiting: number;
  readonly delivered: number;
  /** More waited than may, or were tried for too long. */
  readonly dropped: number;
  readonly lastAttemptAt: Date | null;
  readonly lastDeliveredAt: Date | null;
  /** Of the last attempt, nothing secret in it; null when it went well. */
  readonly lastError: string | null;
}

export interface AttemptResult {
  readonly delivered: boolean;
  /** Of HTTP; null where none came, and for brokers. */
  readonly status: number | null;
  /** In words, nothing secret in it. */
  readonly detail: string;
  readonly ms: number;
}

export interface Delivery {
  /** Made, or pointed elsewhere: what waits goes to the new target. */
  saveDestination(sql: Queries, destination: Destination): Promise<void>;
  /** Takes nothing more; what waits is still delivered, and then it is gone. */
  closeDestination(sql: Queries, uuid: string): Promise<void>;
  /** With what waits for it. */
  removeDestination(sql: Queries, uuid: string): Promise<void>;
  /** In this order. Where more wait than may, the oldest of that destination go, counted. */
  enqueue(sql: Queries, parcels: readonly Parcel[]): Promise<void>;
  /** Another body, and another time, for one that is not due yet. False: it is on its way, or gone. */
  amend(sql: Queries, parcel: Parcel): Promise<boolean>;
  /** After the transaction: something new waits. */
  wake(): void;
  /** Once and now, past what waits and whatever came of earlier ones. Nothing is kept of it. Never rejects. */
  attempt(destination: Destination, parcel: Omit<Parcel, "dueAt">): Promise<AttemptResult>;
  standings(sql: Queries, uuids: readonly string[]): Promise<ReadonlyMap<string, DeliveryStanding>>;
}
