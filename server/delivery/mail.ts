/** Mails of notifications: one for a single notification, one for all that have come since the last mail. Pure. */
import { createHash } from "node:crypto";
import type { Sent } from "./courier.ts";

/** The body of a delivery by mail, as JSON. */
export interface MailPart {
  readonly timestamp: string;
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

export interface Mail {
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
}

/** In one mail; of others only the number is given. */
const MOST_SHOWN = 20;
const RULE = "\n\n----------------------------------------\n\n";

/** `domain`: of the sender. The same deliveries give the same id, by which mail programs recognise a duplicate. */
export function writeMail(sent: readonly Sent[], domain: string): Mail {
  const parts = sent.map(({ body }) => JSON.parse(body) as MailPart);
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) throw new Error("there is nothing to send");
  const messageId = `<${sent.length === 1 ? sent[0]?.id : digest(sent)}@${domain}>`;
  if (parts.length === 1) return { messageId, subject: first.subject, text: `${first.text}\n` };
  const shown = parts.slice(0, MOST_SHOWN);
  const more = parts.length - shown.length;
  const left = `${more} further notifications are left out of this mail. GET /notices lists all.`;
  const text = [
    `${parts.length} notifications from ${first.timestamp} to ${last.timestamp}.`,
    ...shown.map((part) => part.text),
    ...(more > 0 ? [left] : []),
  ].join(RULE);
  return { messageId, subject: `(${parts.length}) ${last.subject}`, text: `${text}\n` };
}

const digest = (sent: readonly Sent[]): string =>
  createHash("sha256")
    .update(sent.map(({ id }) => id).join(" "))
    .digest("hex")
    .slice(0, 32);
