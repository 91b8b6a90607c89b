/** `Idempotency-Key`: a request that creates something is executed once, however often it is sent. */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { canonicalJson } from "../../schemas/json.ts";
import { invalidInput } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { claimRequest, type KeptAnswer, keepAnswer, releaseRequest, renewClaim } from "../store/idempotency.ts";
import type { ApiCall } from "./context.ts";
import { type Answer, type AnyEndpoint, isCreating } from "./endpoint.ts";

export const IDEMPOTENCY_KEY = "Idempotency-Key";
const REPLAYED = { "Idempotency-Replayed": "true" };
const KEY = /^[\x21-\x7e]{1,255}$/;
/** Renewed while the request is executed; after a crash of the server the request can be sent again. */
const LEASE_SECONDS = 30;
/** A larger answer is not kept; those of requests that create something are a few kilobytes. */
const MAX_BYTES = 2 ** 20;
/** Headers of an answer that belong to what was created. */
const KEPT_HEADERS = ["location", "content-type"];

/** Answers by `execute`, or with the answer to the same request before. Only successful answers are kept. */
export async function answerOnce(
  sql: Sql,
  endpoint: AnyEndpoint,
  call: ApiCall,
  execute: () => Promise<Answer> | Answer,
): Promise<Answer> {
  const key = call.headers["idempotency-key"];
  // A start that another node passed on: that node keeps its answer. Requests to a process are passed on before.
  const isElsewhere = call.hop !== null && !endpoint.path.includes("{process_uuid}");
  if (key === undefined || call.user === null || isElsewhere || !isCreating(endpoint)) return execute();
  if (typeof key !== "string" || !KEY.test(key))
    throw invalidInput([
      { path: IDEMPOTENCY_KEY, message: "expected 1 to 255 visible ASCII characters, such as a UUID" },
    ]);
  const request = { userUuid: call.user.uuid, key, digest: digestOf(endpoint, call) };
  const claim = await claimRequest(sql, request, LEASE_SECONDS);
  if ("status" in claim) return { ...claim, headers: { ...claim.headers, ...REPLAYED } };
  const renewal = setInterval(
    () => void renewClaim(sql, claim, LEASE_SECONDS).catch(() => {}),
    (LEASE_SECONDS / 3) * 1000,
  );
  try {
    const answer = await execute();
    const kept = await readAnswer(answer);
    if (kept === null) await releaseRequest(sql, claim);
    else await keepAnswer(sql, claim, kept);
    return kept ?? answer;
  } catch (error) {
    // What cannot be released now is released by its lease.
    await releaseRequest(sql, claim).catch(() => {});
    throw error;
  } finally {
    clearInterval(renewal);
  }
}

/** The bytes of a file that is uploaded are not known yet: its length counts. */
function digestOf({ method, path, rawBody }: AnyEndpoint, { params, search, body, headers }: ApiCall): Buffer {
  const query = [...search].filter(([name]) => name !== "api_key").sort(([a], [b]) => (a < b ? -1 : 1));
  const sent = rawBody === undefined ? (body ?? null) : (headers["content-length"] ?? null);
  return createHash("sha256")
    .update(canonicalJson([method, path, params, query, sent]))
    .digest();
}

/** Null if it is not to be kept. The body of a response of another node is read: what is returned replaces it. */
async function readAnswer(answer: Answer): Promise<KeptAnswer | null> {
  if (answer.status >= 300) return null;
  if (!(answer instanceof Response)) return { headers: {}, ...answer };
  const isJson = answer.headers.get("content-type")?.startsWith("application/json") === true;
  const length = Number(answer.headers.get("content-length") ?? Number.NaN);
  if (!isJson || !(length <= MAX_BYTES)) return null;
  const headers = [...answer.headers].filter(([name]) => KEPT_HEADERS.includes(name));
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isGzip = answer.headers.get("content-encoding") === "gzip";
  const text = isGzip ? gunzipSync(bytes, { maxOutputLength: MAX_BYTES }) : bytes;
  return { status: answer.status, headers: Object.fromEntries(headers), body: JSON.parse(text.toString()) };
}
