/** Streams that the nodes publish. A row counts while the lease of its node lasts. */
import type { StreamInfo } from "../../schemas/hub.ts";
import { type Fragment, firstOf, type Queries } from "./client.ts";

/** One publisher of a path. */
export interface StreamClaim {
  readonly path: string;
  readonly nodeUuid: string;
  readonly fence: number;
  /** Not by a process. */
  readonly isByKey: boolean;
}

export interface ForeignStream {
  readonly path: string;
  readonly nodeUuid: string;
  readonly fence: number;
  readonly isByKey: boolean;
}

const isLive = (sql: Queries): Fragment => sql`
  exists (select from nodes where nodes.uuid = streams.node_uuid and nodes.lease_until > now())`;

/** False: another live node has this path. */
export async function claimStream(sql: Queries, { path, nodeUuid, fence, isByKey }: StreamClaim): Promise<boolean> {
  const { count } = await sql`
    insert into streams (path, node_uuid, fence, is_by_key) values (${path}, ${nodeUuid}, ${fence}, ${isByKey})
    on conflict (path) do update set
      node_uuid = excluded.node_uuid, fence = excluded.fence, is_by_key = excluded.is_by_key,
      since = case when streams.node_uuid = excluded.node_uuid then streams.since end
    where streams.node_uuid = excluded.node_uuid or not ${isLive(sql)}`;
  return count > 0;
}

/** The first keyframe has arrived. False: another live node has this path. */
export async function publishStream(sql: Queries, claim: StreamClaim, info: StreamInfo): Promise<boolean> {
  const { path, nodeUuid, fence, isByKey } = claim;
  const { protocol, width, height, hasAudio } = info;
  const { count } = await sql`
    insert into streams (path, node_uuid, fence, is_by_key, protocol, width, height, has_audio, since)
    values (${path}, ${nodeUuid}, ${fence}, ${isByKey}, ${protocol}, ${width}, ${height}, ${hasAudio}, now())
    on conflict (path) do update set
      node_uuid = excluded.node_uuid, fence = excluded.fence, is_by_key = excluded.is_by_key, protocol = excluded.protocol,
      width = excluded.width, height = excluded.height, has_audio = excluded.has_audio, since = excluded.since
    where streams.node_uuid = excluded.node_uuid or not ${isLive(sql)}`;
  return count > 0;
}

export async function releaseStreams(
  sql: Queries,
  nodeUuid: string,
  claims: readonly Pick<StreamClaim, "path" | "fence">[],
): Promise<void> {
  const ended = claims.map(({ path, fence }) => ({ path, fence }));
  await sql`
    delete from streams using jsonb_to_recordset(${sql.json(ended)}) as ended (path text, fence bigint)
    where streams.path = ended.path and streams.fence = ended.fence and node_uuid = ${nodeUuid}`;
}

export const listOwnStreams = (
  sql: Queries,
  nodeUuid: string,
): Promise<readonly (Pick<StreamClaim, "path" | "fence"> & { readonly isPublished: boolean })[]> =>
  sql`select path, fence, since is not null as is_published from streams where node_uuid = ${nodeUuid}`;

/** Playable streams of the other live nodes. */
export const listForeignStreams = (sql: Queries, nodeUuid: string): Promise<readonly ForeignStream[]> =>
  sql<ForeignStream[]>`
    select path, node_uuid, fence, is_by_key from streams
    where node_uuid <> ${nodeUuid} and since is not null and ${isLive(sql)} order by path`;

/** The RTSP server of the other live node that publishes this path. */
export const findOrigin = (
  sql: Queries,
  nodeUuid: string,
  path: string,
): Promise<{ readonly rtspUrl: string } | null> =>
  firstOf(sql<{ rtspUrl: string }[]>`
    select rtsp_url from streams join nodes on nodes.uuid = streams.node_uuid
    where path = ${path} and nodes.uuid <> ${nodeUuid} and since is not null and lease_until > now()
      and rtsp_url is not null`);
