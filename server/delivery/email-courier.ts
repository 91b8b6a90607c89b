/**
 * Sends notifications by mail, through the mail server of the operator (`smtp`). An output cannot name a server of its own:
 * that would need an address guard, a password and limits for each, for what every operator has already. All notifications
 * that wait for a destination go into one mail, and the number of recipients per hour and user is limited.
 */
import { Semaphore } from "../async/semaphore.ts";
import type { Sql } from "../store/client.ts";
import type { Target } from "../store/destinations.ts";
import { countMails, readMailWaitMs } from "../store/mail-counts.ts";
import type { Courier, CourierOptions, DeliveryFailure, SendOptions, Sent } from "./courier.ts";
import { writeMail } from "./mail.ts";
import { MailError, readMailServer } from "./mail-server.ts";
import type { MailResult } from "./send-mail.ts";

/** Connections to the mail server: many servers accept no more from one client. */
const AT_ONCE = 4;
const MOST_UNFINISHED = 1_000;

/** A mail that not all recipients have. */
interface UnfinishedMail {
  /** The number of its notifications, and the last of them: those between are the same in the queue. */
  readonly count: number;
  readonly lastId: string;
  /** The recipients that have it. */
  readonly done: Set<string>;
}

export class EmailCourier implements Courier {
  readonly batchSize = 10_000;
  readonly batchBytes = 4 * 2 ** 20;
  readonly isCombining = true;
  readonly #options: CourierOptions & { readonly sql: Sql };
  readonly #slots = new Semaphore(AT_ONCE);
  /** By the id of the first notification, the oldest first: a retry sends the same mail to the recipients that lack it. */
  readonly #unfinished = new Map<string, UnfinishedMail>();

  constructor(options: CourierOptions & { readonly sql: Sql }) {
    this.#options = options;
  }

  async send(target: Target, deliveries: readonly Sent[], options: SendOptions): Promise<DeliveryFailure | null> {
    if (target.kind !== "email") throw new Error(`${target.kind} is not mail`);
    const { sql, config } = this.#options;
    const { userUuid, signal } = options;
    const perHour = config.smtp.recipients_per_hour;
    const release = await this.#slots.acquire(signal);
    try {
      if (signal.aborted) return { reason: "it was aborted" };
      const waitMs = await readMailWaitMs(sql, userUuid, perHour);
      if (waitMs > 0)
        return {
          reason: `the limit of this key is reached (${perHour} recipients per hour); what waits will be sent as one mail`,
          retryMs: waitMs,
        };
      return await this.#send(target.to, deliveries, options);
    } catch (error) {
      if (error instanceof MailError) return { reason: error.message, isRejected: error.isFinal };
      throw error;
    } finally {
      release();
    }
  }

  close(): void {}

  async #send(to: readonly string[], deliveries: readonly Sent[], options: SendOptions) {
    const { sql, config, authorities } = this.#options;
    const { smtp } = config;
    const server = readMailServer(smtp);
    if (server === null || typeof server === "string")
      throw new MailError(server ?? "this service has no mail server (smtp.url)");
    const { sent, done } = this.#choose(deliveries);
    const missing = to.filter((address) => !done.has(address));
    const { sendMail } = await import("./send-mail.ts");
    const mail = writeMail(sent, server.from.address.split("@")[1] ?? "");
    const result: MailResult =
      missing.length === 0
        ? { accepted: [], rejected: [], reason: null }
        : await sendMail(server, mail, missing, { smtp, signal: options.signal, authorities });
    for (const address of result.accepted) done.add(address);
    const answered = result.accepted.length + result.rejected.length;
    if (answered > 0) await countMails(sql, options.userUuid, answered);
    const isComplete = result.accepted.length + result.rejected.length === missing.length;
    if (isComplete && done.size > 0) {
      this.#unfinished.delete(sent[0]?.id ?? "");
      for (const _ of sent) options.onDelivered();
      return null;
    }
    return { reason: result.reason ?? "mail server: no recipient was accepted", isRejected: isComplete };
  }

  /** The deliveries of the next mail: those of the mail that was tried last, or all. */
  #choose(deliveries: readonly Sent[]): { readonly sent: readonly Sent[]; readonly done: Set<string> } {
    const first = deliveries[0]?.id ?? "";
    const known = this.#unfinished.get(first);
    if (known !== undefined && deliveries[known.count - 1]?.id === known.lastId)
      return { sent: deliveries.slice(0, known.count), done: known.done };
    const mail = { count: deliveries.length, lastId: deliveries.at(-1)?.id ?? "", done: new Set<string>() };
    this.#unfinished.delete(first);
    this.#unfinished.set(first, mail);
    const [oldest] = this.#unfinished.keys();
    if (this.#unfinished.size > MOST_UNFINISHED && oldest !== undefined) this.#unfinished.delete(oldest);
    return { sent: deliveries, done: mail.done };
  }
}
