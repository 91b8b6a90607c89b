/** Signatures of Standard Webhooks (standardwebhooks.com), version 1: HMAC-SHA256 over id, time and body. */
import { createHmac } from "node:crypto";

const PREFIX = "whsec_";

export interface Signed {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** As it stands in `webhook-signature`. The secret is base64, with or without `whsec_` before it. */
export function sign({ id, timestampSeconds, body }: Signed, secret: string): string {
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`;
}
