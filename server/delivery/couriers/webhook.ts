/** Requests to webhooks, as Standard Webhooks has them, one after the other for each. */
import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import type { Courier, DeliveryFault, Sendable, Sending } from "../courier.ts";
import type { Target } from "../delivery.ts";
import { type LoginNeeds, Logins } from "./logins.ts";
import {
  type Answer,
  basicAuthorization,
  findReceiver,
  PostFault,
  type PostNeeds,
  post,
  type Receiver,
} from "./post.ts";
import { readRetryAfter } from "./retry-after.ts";
import { sign } from "./sign.ts";

type WebhookTarget = Extract<Target, { readonly kind: "webhook" }>;

const UNAUTHORIZED = 401;
const GONE = 410;
/** Of which the receiver says when to come again. */
const BUSY = [429, 503];

export class WebhookCourier implements Courier {
  readonly most = 20;
  readonly #needs: LoginNeeds;
  readonly #logins: Logins;

  constructor(needs: LoginNeeds) {
    this.#needs = needs;
    this.#logins = new Logins(needs);
  }

  async send<P extends Sendable>(
    target: Target,
    parcels: readonly P[],
    { signal, isOver, onDelivered }: Sending<P>,
  ): Promise<DeliveryFault | null> {
    if (target.kind !== "webhook") return { reason: "it is no webhook" };
    let agent: Agent | null = null;
    try {
      const receiver = await findReceiver(target.url, this.#needs.config.network);
      // One connection for all of them, and none that outlives the look at the address.
      agent = new (receiver.isSecure ? SecureAgent : Agent)({ keepAlive: true, maxSockets: 1 });
      for (const parcel of parcels) {
        const answer = await this.#deliver(target, receiver, parcel, { agent, signal });
        const fault = judge(receiver, answer);
        if (fault !== null) return fault;
        onDelivered(parcel, answer.status);
        // One that takes long for each must not keep its place for all of them.
        if (isOver()) break;
      }
      return null;
    } catch (error) {
      if (error instanceof PostFault) return { reason: error.message };
      throw error;
    } finally {
      agent?.destroy();
    }
  }

  async close(): Promise<void> {}

  /** Once more with a new token when the old one is not taken. */
  async #deliver(
    target: WebhookTarget,
    receiver: Receiver,
    parcel: Sendable,
    way: { readonly agent: Agent; readonly signal: AbortSignal },
  ): Promise<Answer> {
    const { authUrl } = target;
    const answer = await this.#post(target, receiver, parcel, way);
    if (answer.status !== UNAUTHORIZED || authUrl === null) return answer;
    this.#logins.forget(authUrl, receiver);
    return this.#post(target, receiver, parcel, way);
  }

  async #post(
    { secret, authUrl }: WebhookTarget,
    receiver: Receiver,
    { id, body }: Sendable,
    { agent, signal }: { readonly agent: Agent; readonly signal: AbortSignal },
  ): Promise<Answer> {
    const { config, softwareVersion, authorities } = this.#needs;
    const token = authUrl === null ? null : await this.#logins.token(authUrl, receiver, signal);
    const authorization =
      token !== null ? `Bearer ${token}` : receiver.user === null ? null : basicAuthorization(receiver.user);
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const headers = {
      "content-type": "application/json",
      "user-agent": `Windhover/${softwareVersion}`,
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": sign({ id, timestampSeconds, body }, secret),
      ...(authorization !== null && { authorization }),
    };
    const needs: PostNeeds = {
      ...{ config: config.delivery, agent, signal, authorities, answerBytes: config.delivery.answer_bytes },
    };
    return post(receiver, { headers, body }, needs).catch((error: unknown) => {
      if (error instanceof PostFault && error.isStale) return post(receiver, { headers, body }, needs);
      throw error;
    });
  }
}

/** Null: it has taken it. */
function judge({ origin }: Receiver, { status, headers }: Answer): DeliveryFault | null {
  if (status >= 200 && status <= 299) return null;
  if (status === GONE)
    return { status, isFinal: true, reason: `${origin}: it answered 410 Gone, so nothing more is sent there` };
  if (status >= 300 && status <= 399)
    return { status, reason: `${origin}: it answered ${status} and leads elsewhere, where nobody is followed` };
  const retryMs = BUSY.includes(status) ? readRetryAfter(headers["retry-after"], Date.now()) : null;
  return { status, reason: `${origin}: it answered ${status}`, ...(retryMs !== null && { retryMs }) };
}
