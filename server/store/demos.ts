/** Demos: a looped video with a certain alias, and a process that uses it. */

import type { Queries } from "./client.ts";
import type { ProcessState } from "./processes.ts";

/** The oldest, if there are several. Null if there is none. */
export async function findDemoSource(sql: Queries, userUuid: string, alias: string): Promise<string | null> {
  const [row] = await sql<{ uuid: string }[]>`
    select uuid from sources where user_uuid = ${userUuid} and loop and alias = ${alias}
    order by created_at, uuid limit 1`;
  return row?.uuid ?? null;
}

interface DemoProcess {
  readonly uuid: string;
  readonly graph: string;
  readonly state: ProcessState;
}

/** Not ended, newest first. */
export function listActiveOn(sql: Queries, sourceUuid: string): Promise<readonly DemoProcess[]> {
  return sql<DemoProcess[]>`
    select uuid, graph, state from processes
    where source_uuid = ${sourceUuid} and state not in ('finished', 'failed')
    order by created_at desc, uuid desc`;
}
