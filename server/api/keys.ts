/** API keys of an account and its children, and the limits of accounts. */
import { Type } from "typebox";
import {
  AccountChange,
  AccountListing,
  AccountRecord,
  CreatedKey,
  KeyChange,
  KeyListing,
  KeyQuery,
  KeyRecord,
  KeyRotation,
  NewKey,
} from "../../schemas/api/keys.ts";
import { Deleted } from "../../schemas/api/records.ts";
import type { Config } from "../../schemas/config.ts";
import { Accounts } from "../keys/accounts.ts";
import { AccountKeys, type CreatedKey as Created } from "../keys/api-keys.ts";
import { readLimits } from "../keys/authenticate.ts";
import { type ApiKeyRow, findKey, listKeys } from "../store/api-keys.ts";
import type { Sql } from "../store/client.ts";
import { type AnyEndpoint, defineEndpoints, deleted, listing, ok } from "./endpoint.ts";

const define = defineEndpoints("Keys");

/** `onChanged`: keys that are cached are outdated. */
export function keyEndpoints(sql: Sql, config: Config, onChanged: () => void): readonly AnyEndpoint[] {
  const changed = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change;
    onChanged();
    return result;
  };
  const keys = new AccountKeys(sql);
  const accounts = new Accounts(sql, readLimits(config));
  return [
    define("GET", "/keys", "listKeys", {
      summary: "List the keys of your account and, for a master key, of its children",
      description: "Without revoked keys, unless `state` is `all`. The keys themselves are not stored.",
      scope: "admin",
      query: KeyQuery,
      answers: { 200: { description: "Newest first.", schema: KeyListing } },
      async handle({ user, query: { state, ...query } }) {
        const found = await listKeys(sql, user.uuid, { ...query, withRevoked: state === "all" });
        return listing("keys", found, describeKey);
      },
    }),
    define("POST", "/key", "createKey", {
      summary: "Create a key",
      description:
        "For your account or, with a master key, for one of its children. It cannot have more scopes, other sources or a later expiry than the key of the request. The key is shown only in this answer.",
      scope: "admin",
      body: NewKey,
      answers: { 201: { description: "Created.", schema: CreatedKey } },
      errors: ["user_not_found", "source_not_found", "keys_limit_reached"],
      handle: async ({ user, body }) => answerCreated(await keys.create(user, body)),
    }),
    define("GET", "/key/{key_uuid}", "readKey", {
      summary: "Get a key, without its secret",
      scope: "admin",
      answers: { 200: { description: "The key.", schema: KeyRecord } },
      errors: ["key_not_found"],
      handle: async ({ user, params }) => ok(describeKey(await findKey(sql, user.uuid, params.key_uuid))),
    }),
    define("PATCH", "/key/{key_uuid}", "changeKey", {
      summary: "Change the name or the expiry of a key",
      description: "An omitted field keeps its value. Scopes and sources cannot be changed: create another key.",
      scope: "admin",
      body: KeyChange,
      answers: { 200: { description: "The key.", schema: KeyRecord } },
      errors: ["key_not_found"],
      handle: async ({ user, params, body }) =>
        ok(describeKey(await changed(keys.change(user, params.key_uuid, body)))),
    }),
    define("POST", "/key/{key_uuid}/rotate", "rotateKey", {
      summary: "Replace a key by a new one with the same rights",
      description:
        "The old key stays valid for `overlap_seconds`, so that clients can change over; then its open streams end. The new key is shown only in this answer.",
      scope: "admin",
      body: KeyRotation,
      isBodyOptional: true,
      answers: { 201: { description: "The new key.", schema: CreatedKey } },
      errors: ["key_not_found", "source_not_found", "keys_limit_reached"],
      handle: async ({ user, params, body }) => answerCreated(await changed(keys.rotate(user, params.key_uuid, body))),
    }),
    define("DELETE", "/key/{key_uuid}", "revokeKey", {
      summary: "Revoke a key",
      description:
        "Requests with it are rejected at once, by other nodes within a second; its websockets, streams and publishers end within seconds. Processes that it has started continue.",
      scope: "admin",
      answers: { 200: { description: "Revoked.", schema: Deleted } },
      errors: ["key_not_found"],
      async handle({ user, params: { key_uuid: uuid } }) {
        await changed(keys.revoke(user, uuid));
        return deleted(uuid);
      },
    }),
    define("GET", "/accounts", "listAccounts", {
      summary: "List your account and its children, with limits and features",
      scope: "admin",
      answers: { 200: { description: "Yours first, then its children by name.", schema: AccountListing } },
      handle: async ({ user }) => ok({ accounts: await accounts.list(user) }),
    }),
    define("PATCH", "/account/{username}", "changeAccount", {
      summary: "Change limits and features of a child account",
      description:
        "A master gives its children at most what it has itself. Your own account can be changed with an operator key. An omitted field keeps its value.",
      scope: "admin",
      params: Type.Object({ username: Type.String({ pattern: "^[a-z0-9][a-z0-9_-]{0,62}$" }) }),
      body: AccountChange,
      answers: { 200: { description: "The account.", schema: AccountRecord } },
      errors: ["user_not_found", "operator_key_needed"],
      handle: async ({ user, params, body }) => ok(await changed(accounts.change(user, params.username, body))),
    }),
  ];
}

const answerCreated = ({ key, row }: Created) => ({ status: 201, body: { ...describeKey(row), key } });

export function describeKey(row: ApiKeyRow): KeyRecord {
  const { uuid, username, name, keyId, scopes, sourceUuids, person, createdAt, lastUsedAt, expiresAt, revokedAt } = row;
  const isExpired = expiresAt !== null && expiresAt.getTime() <= Date.now();
  return {
    ...{ uuid, key_uuid: uuid, username, name, prefix: `wh_${keyId}` },
    ...{ scopes: [...scopes], source_uuids: sourceUuids === null ? null : [...sourceUuids], person },
    state: revokedAt !== null ? "revoked" : isExpired ? "expired" : "valid",
    created_at: createdAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}
