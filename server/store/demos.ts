/** Demos: a source with a certain path and alias, and a process that uses it. */

import type { Queries } from "./client.ts";
import type { ProcessState } from "./processes.ts";

interface DemoPlace {
  readonly userUuid: string;
  /** Of the media hub. */
  readonly path: string;
  readonly alias: string;
}

/** The oldest, if there are several. Null if there is none. */
export async function findDemoSource(sql: Queries, { userUuid, path, alias }: DemoPlace): Promise<string | null> {
  const [row] = await sql<{ uuid: string }[]>`
    select uuid from sources
    where user_uuid = ${userUuid} and hub_path = ${path} and alias = ${alias}
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

interface KeptDemo {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly path: string;
}

/** With a process that should be running on this machine. */
export function listDemosToKeep(
  sql: Queries,
  nodeUuid: string,
  { alias, pathEnd }: { readonly alias: string; readonly pathEnd: string },
): Promise<readonly KeptDemo[]> {
  return sql<KeptDemo[]>`
    select distinct sources.user_uuid, sources.uuid as source_uuid, sources.hub_path as path
    from sources join processes on processes.source_uuid = sources.uuid
    where sources.alias = ${alias} and right(sources.hub_path, ${pathEnd.length}) = ${pathEnd}
      and processes.state not in ('finished', 'failed') and processes.desired <> 'stopped'
      and processes.node_uuid = ${nodeUuid}`;
}
