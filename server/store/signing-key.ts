import { randomBytes } from "node:crypto";
import type { Sql } from "./client.ts";

const SECRET_BYTES = 32;

/** Of this installation: made by whoever asks first. */
export async function readSigningKey(sql: Sql): Promise<Uint8Array> {
  const fresh = sql.typed.sealed(randomBytes(SECRET_BYTES).toString("base64"));
  await sql`insert into signing_keys (secret) values (${fresh}) on conflict do nothing`;
  const [row] = await sql<{ secret: string }[]>`select secret from signing_keys`;
  if (row === undefined) throw new Error("the signing key was not written");
  return Buffer.from(row.secret, "base64");
}
