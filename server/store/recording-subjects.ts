/** Whose a recording is, by the path that its stream was published at. */
import type { Queries } from "./client.ts";

export interface PathSubject {
  readonly userUuid: string;
  readonly sourceUuid: string;
  readonly alias: string;
  readonly path: string;
}

export interface PublishedPath {
  readonly path: string;
  /** Null: not known any more. */
  readonly protocol: "rtsp" | "rtmp" | null;
}

/** Of those that sources have; of several with one path that of the protocol, else the newest. */
export function findSubjects(sql: Queries, published: readonly PublishedPath[]): Promise<readonly PathSubject[]> {
  const paths = published.map(({ path, protocol }) => ({ path, protocol }));
  return sql<PathSubject[]>`
    select distinct on (paths.path) sources.user_uuid, sources.uuid as source_uuid, sources.alias, paths.path
    from jsonb_to_recordset(${sql.json(paths)}) as paths (path text, protocol text)
      join users on users.username = split_part(paths.path, '/', 1)
      join sources on sources.user_uuid = users.uuid and sources.hub_path = paths.path
    order by paths.path, (sources.stream_type = paths.protocol) desc nulls last, sources.created_at desc`;
}

/** Of the owner of a process: it has process recording still, and is neither revoked nor expired. */
export async function isKeyGood(sql: Queries, processUuid: string): Promise<boolean> {
  const [row] = await sql`
    select from processes join users on users.uuid = user_uuid
    where processes.uuid = ${processUuid} and users.has_recording
      and users.revoked_at is null and coalesce(users.expires_at > now(), true)`;
  return row !== undefined;
}
