/** Keys as the store has them. */
import type { Config } from "../../schemas/config.ts";
import type { Sql } from "../store/client.ts";
import { findUserByKeyId, toUser } from "../store/users.ts";
import type { UserLimits } from "../user.ts";
import type { FindKey } from "./authenticate.ts";

export function findKeyIn(sql: Sql, config: Config): FindKey {
  const limits = readLimits(config);
  return async (keyId) => {
    const row = await findUserByKeyId(sql, keyId);
    return row === null ? null : { user: toUser(row, limits), keySha256: row.keySha256, revokedAt: row.revokedAt };
  };
}

/** What a key may have that says nothing else. */
export function readLimits({ limits }: Config): UserLimits {
  return {
    processes: limits.processes,
    sources: limits.sources,
    outputsRegistered: limits.outputs_registered,
    outputsActive: limits.outputs_active,
    alerts: limits.alerts,
    subscriptions: limits.subscriptions,
    videoBytes: limits.video_bytes,
    storageBytes: limits.storage_bytes,
    requestsPerMinute: limits.requests_per_minute,
  };
}
