/** The demo that `serve --demo` asks for: that of the first master, whose key whoever starts the service has. */
import type { RunningDemo } from "../../schemas/api/demo.ts";
import type { Config } from "../../schemas/config.ts";
import { readLimits } from "../keys/authenticate.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { listUsers, toUser } from "../store/users.ts";
import type { Demo } from "./demo.ts";

interface FirstDemoNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly demo: Pick<Demo, "start">;
  readonly url: string;
}

/** Rejects with `ServiceError`. */
export async function startFirstDemo({ sql, config, demo, url }: FirstDemoNeeds): Promise<RunningDemo> {
  const isGood = (expiresAt: Date | null) => expiresAt === null || expiresAt.getTime() > Date.now();
  const first = (await listUsers(sql)).find(
    (row) => row.masterUuid === null && row.revokedAt === null && isGood(row.expiresAt),
  );
  if (first === undefined)
    throw new ServiceError("demo_unavailable", {
      detail: "there is no master key that is good; make one with `windhover keys create NAME --operator`",
    });
  const { source_uuid, process_uuid } = await demo.start(toUser(first, readLimits(config)), url);
  return { source_uuid, process_uuid };
}
