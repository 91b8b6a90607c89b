/** Graphs that users have stored, and their versions, which never change. */
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import { newUuid } from "../uuid.ts";
import { firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { byCreation, fetchPage, type Page, type PageRequest } from "./page.ts";
import { lockUser } from "./users.ts";

export interface GraphVersionRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly name: string;
  readonly version: number;
  /** SHA-256 of `yaml`, in hexadecimal. */
  readonly digest: string;
  readonly yaml: string;
  /** What listings show, as compiled when it was stored. */
  readonly summary: JsonRecord;
  /** Digests of the installed graphs that it extends or uses parts of, when it was stored; null: not recorded. */
  readonly bases: Readonly<Record<string, string>> | null;
  /** Name of the key that stored it. */
  readonly author: string;
  readonly createdAt: Date;
  /** The version that processes start with by default. */
  readonly isCurrent: boolean;
}

export interface BasesNow {
  /** Digests of installed graphs by their names; null: it was uninstalled. */
  readonly basesNow: Readonly<Record<string, string | null>>;
}

type NewGraphVersion = Omit<GraphVersionRow, "uuid" | "version" | "bases" | "createdAt" | "isCurrent"> & {
  readonly bases: Readonly<Record<string, string>>;
};

interface GraphCounts {
  readonly graphs: number;
  readonly versions: number;
}

/**
 * The version with this text, which becomes the current one; a new version if there is none. Rejects with
 * `graphs_limit_reached`.
 */
export async function storeGraph(
  sql: Sql,
  graph: NewGraphVersion,
  limits: GraphCounts,
): Promise<{ readonly row: GraphVersionRow; readonly isNew: boolean }> {
  const { userUuid, name, digest } = graph;
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    const same = await firstOf(sql<GraphVersionRow[]>`
      update graph_versions set summary = ${sql.json(graph.summary)}, bases = ${sql.json(graph.bases)}
      where user_uuid = ${userUuid} and name = ${name} and digest = ${digest}
      returning *, true as is_current`);
    if (same !== null) {
      await sql`
        update graphs set current_version = ${same.version} where user_uuid = ${userUuid} and name = ${name}`;
      return { row: same, isNew: false };
    }
    await expectRoom(sql, userUuid, name, limits);
    const { version } = await writtenRow(sql<{ version: number }[]>`
      insert into graphs (user_uuid, name, current_version, last_version) values (${userUuid}, ${name}, 1, 1)
      on conflict (user_uuid, name) do update
        set last_version = graphs.last_version + 1, current_version = graphs.last_version + 1
      returning last_version as version`);
    const row = await writtenRow(sql<GraphVersionRow[]>`
      insert into graph_versions ${sql({
        ...graph,
        ...{ uuid: newUuid(), version, summary: sql.json(graph.summary), bases: sql.json(graph.bases) },
      })}
      returning *, true as is_current`);
    return { row, isNew: true };
  });
}

async function expectRoom(sql: Queries, userUuid: string, name: string, limits: GraphCounts): Promise<void> {
  const [{ others = 0, versions = 0 } = {}] = await sql<{ others: number; versions: number }[]>`
    select
      (select count(*) from graphs where user_uuid = ${userUuid} and name <> ${name}) as others,
      (select count(*) from graph_versions where user_uuid = ${userUuid} and name = ${name}) as versions`;
  if (versions === 0 && others >= limits.graphs)
    throw new ServiceError("graphs_limit_reached", {
      detail: `graph limit reached for this key (${limits.graphs}); delete one (DELETE /graphs/{name}) and try again`,
    });
  if (versions >= limits.versions)
    throw new ServiceError("graphs_limit_reached", {
      detail: `version limit reached for the graph "${name}" (${limits.versions}); store it under another name, or delete it (DELETE /graphs/${name})`,
    });
}

/** The current versions, by name. */
export const listGraphs = (sql: Queries, userUuid: string): Promise<readonly GraphVersionRow[]> =>
  sql<GraphVersionRow[]>`
    ${versions(sql)} where graph_versions.user_uuid = ${userUuid} and current_version = version
    order by graph_versions.name`;

const versions = (sql: Queries) => sql`
  select graph_versions.*, current_version = version as is_current from graph_versions
  join graphs on graphs.user_uuid = graph_versions.user_uuid and graphs.name = graph_versions.name`;

/** Null: there is none. `version` null: the current one. */
export const findGraph = (
  sql: Queries,
  userUuid: string,
  name: string,
  version: number | null,
): Promise<GraphVersionRow | null> =>
  firstOf(sql<GraphVersionRow[]>`
    ${versions(sql)} where graph_versions.user_uuid = ${userUuid} and graph_versions.name = ${name}
      and version = coalesce(${version}::integer, current_version)`);

/** Newest first. */
export const listGraphVersions = (
  sql: Queries,
  userUuid: string,
  name: string,
  request: PageRequest,
): Promise<Page<GraphVersionRow>> =>
  fetchPage(
    sql,
    request,
    byCreation<GraphVersionRow>("graph_versions"),
    (end) => sql<GraphVersionRow[]>`
      ${versions(sql)} where graph_versions.user_uuid = ${userUuid} and graph_versions.name = ${name} ${end}`,
  );

/** With all its versions. False: there is none. Rejects with `graph_in_use` while a process runs it. */
export async function deleteGraph(sql: Sql, userUuid: string, name: string): Promise<boolean> {
  return sql.begin(async (sql) => {
    // A process is stored under the same lock.
    await lockUser(sql, userUuid);
    const [running] = await sql<{ uuid: string }[]>`
      select uuid from processes
      where user_uuid = ${userUuid} and graph = ${name} and graph_version is not null
        and state not in ('finished', 'failed')
      order by created_at limit 1`;
    if (running !== undefined)
      throw new ServiceError("graph_in_use", {
        detail: `the process ${running.uuid} runs the graph "${name}"; stop it (DELETE /process/${running.uuid}) and try again`,
      });
    const { count } = await sql`delete from graphs where user_uuid = ${userUuid} and name = ${name}`;
    return count > 0;
  });
}

/** Rejects with `graph_not_found`: it was deleted meanwhile. For a transaction that stores a process of it. */
export async function expectGraphVersion(
  sql: Queries,
  userUuid: string,
  { graph, graphVersion }: { readonly graph: string; readonly graphVersion: number | null },
): Promise<void> {
  if (graphVersion === null || (await findGraph(sql, userUuid, graph, graphVersion)) !== null) return;
  throw graphNotFound(graph, graphVersion);
}

export const graphNotFound = (name: string, version: number | null): ServiceError =>
  new ServiceError("graph_not_found", {
    detail:
      version === null
        ? `You have not stored a graph "${name}"; GET /graphs lists yours.`
        : `There is no version ${version} of the graph "${name}"; GET /graphs/${name}/versions lists them.`,
  });
