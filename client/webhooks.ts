/** Webhook requests are signed as Standard Webhooks defines: HMAC-SHA256 over id, time and body. */

const TOLERANCE_SECONDS = 300;

/**
 * Whether a request was sent by the holder of the secret, a short while ago.
 *
 * @param body the raw body, before parsing
 * @param secret begins with `whsec_`
 */
export async function isFromWindhover(
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string | Uint8Array<ArrayBuffer>,
  secret: string,
  nowSeconds = Date.now() / 1000,
): Promise<boolean> {
  const read = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const [id, time, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(read);
  if (!id || !time || !signatures || !(Math.abs(nowSeconds - Number(time)) <= TOLERANCE_SECONDS)) return false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const raw = decodeBase64(secret.replace(/^whsec_/, ""));
  if (raw === null) return false;
  const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["verify"]);
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const signed = new Uint8Array(await new Blob([encoder.encode(`${id}.${time}.`), bytes]).arrayBuffer());
  for (const entry of signatures.split(" ")) {
    const signature = entry.startsWith("v1,") ? decodeBase64(entry.slice(3)) : null;
    if (signature !== null && (await crypto.subtle.verify(algorithm, key, signature, signed))) return true;
  }
  return false;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
