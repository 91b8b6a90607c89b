/**
 * Conditional requests (RFC 9110, section 13). The ETag of a record has two parts: a digest of the fields that `PATCH` can
 * change, and one of the whole answer. `If-None-Match` compares both; `If-Match` only the first, so that a change is not
 * rejected because of what the service itself changes: status, statistics, signed URLs.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../schemas/json.ts";
import { FairSlots } from "../async/fair-slots.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { lockRecord } from "../store/record-lock.ts";
import type { ApiCall, ApiMiddleware } from "./context.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import type { RoutePath } from "./routes.ts";

const digest = (text: string, characters: number): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, characters);

const CHANGING = ["PATCH", "PUT", "DELETE"] as const;

/** Endpoints whose requests may have `If-Match`: those that change what `GET` of the same path answers. */
export function isConditional({ method, path }: AnyEndpoint, siblings: readonly AnyEndpoint[]): boolean {
  const isChanging = CHANGING.some((each) => each === method);
  return isChanging && siblings.some((other) => other.path === path && isRecord(other));
}

/** A record: read by `GET` as JSON, without parameters that choose its form. */
const isRecord = ({ method, query, answers, path }: AnyEndpoint): boolean =>
  method === "GET" && query === undefined && path.includes("{") && isJson(answers[200]);

/** Its successful answers have an ETag: what `GET` answers, and the record after a change. */
export const isTagged = ({ method, answers, path }: AnyEndpoint): boolean =>
  (method === "GET" || (method === "PATCH" && path.includes("{"))) && isJson(answers[200]);

const isJson = (answer: AnyEndpoint["answers"][number] | undefined): boolean =>
  answer?.schema !== undefined && answer.mediaType === undefined;

/** Computes the ETag of an answer; null: its answers have none. */
export type TagAnswer = (value: unknown, json: string) => string;

export function tagAnswersOf(endpoint: AnyEndpoint, path: RoutePath): TagAnswer | null {
  if (!isTagged(endpoint)) return null;
  const get = path.routes.get("GET")?.endpoint;
  if (get === undefined || !isRecord(get)) return (_, json) => `"${digest(json, 24)}"`;
  const fields = changeableOf(path);
  return (value, json) => `"${digestFields(value, fields)}.${digest(json, 24)}"`;
}

const changeableOf = ({ routes }: RoutePath): readonly string[] =>
  Object.keys((routes.get("PATCH")?.endpoint.body as { properties?: object } | undefined)?.properties ?? {});

function digestFields(value: unknown, fields: readonly string[]): string {
  const record = value as Readonly<Record<string, unknown>>;
  const chosen = fields.map((name) => [name, record[name] ?? null]);
  return digest(canonicalJson(JSON.parse(JSON.stringify([record.uuid ?? null, chosen]))), 16);
}

/** Of a list of ETags, or `*`. Proxies that compress answers mark their ETags as weak. */
const listTags = (header: string): readonly string[] => header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));

/** The client has this answer already. */
export function isUnchanged({ raw, headers }: ApiCall, tag: string | undefined): boolean {
  const known = headers["if-none-match"];
  if (tag === undefined || known === undefined || (raw.method !== "GET" && raw.method !== "HEAD")) return false;
  return listTags(known).some((each) => each === "*" || each === tag);
}

/** Changes with `If-Match` at a time, one per key. */
const MAX_LOCKS = 4;
const WAIT_MS = 10_000;

/** `sql` null: changes of the same record are not serialised. */
export function expectMatches(sql: Sql | null): (endpoint: AnyEndpoint, path: RoutePath) => ApiMiddleware | null {
  // Each holds a connection to the database, and needs another for its work.
  const slots = new FairSlots(sql === null ? 0 : Math.max(1, Math.min(MAX_LOCKS, Math.floor(sql.options.max / 2))));
  return (endpoint, path) => {
    const get = path.routes.get("GET")?.endpoint;
    if (get === undefined || !isConditional(endpoint, [get])) return null;
    const fields = changeableOf(path);
    return async ({ env: { call } }, next) => {
      const wanted = call.headers["if-match"];
      if (wanted === undefined) return next();
      const change = async () => {
        await expectMatch(wanted, get, call, fields);
        await next();
      };
      if (sql === null) return change();
      const owner = call.user?.uuid ?? "";
      const release = await slots.acquire(owner, call.signal, WAIT_MS);
      if (release === null)
        throw new ServiceError("rate_limited", {
          detail: "other changes with If-Match of this key are in progress; try again in a moment",
          retryAfterSeconds: 1,
        });
      const name = `${owner} ${endpoint.path} ${JSON.stringify(call.params)}`;
      await lockRecord(sql, name, change).finally(release);
    };
  };
}

async function expectMatch(wanted: string, get: AnyEndpoint, call: ApiCall, fields: readonly string[]): Promise<void> {
  const { query } = call;
  call.query = {};
  // Rejects if there is no such record.
  const answer = await get.handle(call as never);
  call.query = query;
  if (answer instanceof Response) return;
  const now = digestFields(answer.body, fields);
  if (listTags(wanted).some((tag) => tag === "*" || tag.startsWith(`"${now}.`))) return;
  throw new ServiceError("precondition_failed", {
    detail:
      "the record has changed since the ETag in If-Match was read; read it again, and send the change with its new ETag",
  });
}
