/** Streams that are published to sources, on any node, with the events of their beginnings and ends; and rejected publishers. */
import type { StreamInfo } from "../../schemas/hub.ts";
import { type Fragment, firstOf, type Queries, type Sql } from "./client.ts";

type Protocol = StreamInfo["protocol"];

export interface PublicationRow extends Pick<StreamInfo, "protocol" | "codec" | "width" | "height" | "hasAudio"> {
  readonly nodeUuid: string;
  readonly beganAt: Date;
}

export interface BegunStream extends StreamInfo {
  readonly nodeUuid: string;
  readonly at: Date;
}

const TAKEN_OVER = "its server has ended, and it was published again";

/** Its first keyframe has arrived. For each source with its path. */
export async function beginStream(sql: Queries, stream: BegunStream): Promise<void> {
  const { path, protocol, codec, width, height, hasAudio, nodeUuid, at } = stream;
  // Left by a node that was killed.
  await endStreams(sql, sql`path = ${path}`, at, TAKEN_OVER);
  await sql`
    with began as (
      insert into publications
        (source_uuid, user_uuid, node_uuid, path, protocol, codec, width, height, has_audio, began_at)
      select uuid, user_uuid, ${nodeUuid}::uuid, ${path}, ${protocol}, ${codec}, ${width}::integer, ${height}::integer,
        ${hasAudio}::boolean, ${at}::timestamptz
      from sources where hub_path = ${path}
      returning source_uuid, user_uuid
    ), cleared as (
      delete from publish_rejections using began where publish_rejections.source_uuid = began.source_uuid
    )
    insert into events (user_uuid, type, happened_at, source_uuid, data)
    select user_uuid, 'stream-began', ${at}::timestamptz, source_uuid,
      ${sql.json({ path, protocol, codec, width, height })} from began`;
}

async function endStreams(sql: Queries, which: Fragment, at: Date, reason: string): Promise<void> {
  await sql`
    with gone as (delete from publications where ${which} returning *)
    insert into events (user_uuid, type, happened_at, source_uuid, data)
    select user_uuid, 'stream-ended', ${at}::timestamptz, source_uuid, jsonb_build_object(
      'path', path, 'protocol', protocol, 'reason', ${reason}::text,
      'duration_seconds', greatest(0, round(extract(epoch from ${at}::timestamptz - began_at)::numeric, 3)))
    from gone`;
}

export const endStream = (
  sql: Queries,
  { path, nodeUuid, at, reason }: Pick<BegunStream, "path" | "nodeUuid" | "at"> & { readonly reason: string },
): Promise<void> => endStreams(sql, sql`path = ${path} and node_uuid = ${nodeUuid}`, at, reason);

/** Of this node. */
export const endAllStreams = (sql: Queries, nodeUuid: string, at: Date, reason: string): Promise<void> =>
  endStreams(sql, sql`node_uuid = ${nodeUuid}`, at, reason);

/** Of nodes that were killed. `isAlone`: all other nodes were. */
export const endLostStreams = (sql: Sql, nodeUuid: string, isAlone: boolean): Promise<void> =>
  endStreams(
    sql,
    sql`node_uuid <> ${nodeUuid} and (${isAlone} or not exists (
      select from nodes where nodes.uuid = publications.node_uuid and nodes.lease_until > now()))`,
    new Date(),
    "its server has ended",
  );

export interface Rejection {
  readonly path: string;
  readonly protocol: Protocol;
  readonly reason: string;
  readonly at: Date;
  /** Otherwise it is only the last rejection of the source. */
  readonly isEvent: boolean;
}

/** Of a publisher, for each source with the path. */
export async function rejectStream(sql: Queries, { path, protocol, reason, at, isEvent }: Rejection): Promise<void> {
  await sql`
    with rejected as (
      insert into publish_rejections (source_uuid, protocol, reason, rejected_at)
      select uuid, ${protocol}, ${reason}, ${at}::timestamptz from sources where hub_path = ${path}
      on conflict (source_uuid) do update
      set protocol = excluded.protocol, reason = excluded.reason, rejected_at = excluded.rejected_at
      returning source_uuid
    )
    insert into events (user_uuid, type, happened_at, source_uuid, data)
    select user_uuid, 'stream-rejected', ${at}::timestamptz, uuid, ${sql.json({ path, protocol, reason })}
    from sources join rejected on source_uuid = uuid where ${isEvent}`;
}

export const findPublication = (sql: Queries, sourceUuid: string): Promise<PublicationRow | null> =>
  firstOf(sql<PublicationRow[]>`
    select node_uuid, protocol, codec, width, height, has_audio, began_at from publications
    where source_uuid = ${sourceUuid}`);

export const findRejection = (
  sql: Queries,
  sourceUuid: string,
): Promise<{ readonly reason: string; readonly rejectedAt: Date } | null> =>
  firstOf(sql<{ reason: string; rejectedAt: Date }[]>`
    select reason, rejected_at from publish_rejections where source_uuid = ${sourceUuid}`);
