/** Requests to webhooks, one after the other for each. */
import type { Courier, CourierConfig, DeliveryFault, Sendable, Sending } from "../courier.ts";
import type { Target } from "../delivery.ts";

export interface WebhookNeeds {
  readonly config: CourierConfig;
  readonly softwareVersion: string;
  readonly authorities?: string;
}

export class WebhookCourier implements Courier {
  readonly most = 20;

  constructor(_needs: WebhookNeeds) {}

  async send<P extends Sendable>(_: Target, __: readonly P[], ___: Sending<P>): Promise<DeliveryFault | null> {
    return { reason: "webhooks are not delivered to yet" };
  }

  async close(): Promise<void> {}
}
