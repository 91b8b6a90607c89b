/** Fills the database with what the listings of one user show, as after months. */
import { randomBytes } from "node:crypto";
import type { Sql } from "../../../server/store/client.ts";
import { writeEndedReports } from "../../../server/store/track-reports.ts";
import { newUuid } from "../../../server/uuid.ts";

export interface ListingSize {
  readonly sources: number;
  readonly processes: number;
  readonly notices: number;
  /** Outputs, alerts. */
  readonly registered: number;
  readonly recordings: number;
  readonly clips: number;
  /** Of one process; the others have one each. */
  readonly tracks: number;
  /** Bytes of the picture in a notice. */
  readonly patchBytes: number;
}

export const FULL: ListingSize = {
  ...{ sources: 1_000, processes: 10_000, notices: 100_000, registered: 100 },
  ...{ recordings: 5_000, clips: 1_000, tracks: 2_000, patchBytes: 8_000 },
};

/** What requests name. */
export interface Filled {
  readonly sourceUuid: string;
  readonly processUuid: string;
  readonly alertUuid: string;
  readonly alias: string;
  /** In the middle of the time that is filled. */
  readonly middle: Date;
}

const DAY_MS = 86_400_000;
/** Less than any retention time. */
const DAYS = 6;
/** Characters that images are taken from. */
const NOISE = 4_000_000;
/** Rows per statement. */
const SOME = 10_000;

/** @param sql with the key of the service: some columns are sealed. */
export async function fillListings(sql: Sql, userUuid: string, size: ListingSize): Promise<Filled> {
  const began = new Date(Date.now() - (DAYS + 0.5) * DAY_MS);
  const at = (number: number) =>
    sql`${began}::timestamptz + i * make_interval(secs => ${(DAYS * DAY_MS) / 1000 / number}::double precision)`;
  const sourceUuid = newUuid();
  const processUuid = newUuid();
  const alertUuid = newUuid();
  const sealed = { url: sql.typed.sealed("rtsp://camera/main"), none: sql.typed.sealed(null) };
  // The first of each has a known uuid.
  const uuid = (first: string) => sql`case i when 0 then ${first}::uuid else gen_random_uuid() end`;
  const upTo = (number: number) => sql`from generate_series(0, ${number - 1}::integer) as i`;
  await sql`
    insert into sources (uuid, user_uuid, alias, type, stream_type, input_url, telemetry_cfg, identity, hub_path, created_at)
    select ${uuid(sourceUuid)}, ${userUuid}, 'Camera ' || i, case i % 4 when 0 then 'file' else 'stream' end,
      case i % 4 when 0 then null else 'rtsp' end, ${sealed.url}, ${sealed.none}, 'listing ' || i,
      case i % 4 when 1 then 'listing/' || i end, ${at(size.sources)}
    ${upTo(size.sources)}`;
  await sql`
    insert into outputs (uuid, user_uuid, alias, type, url, tak, identity, created_at)
    select gen_random_uuid(), ${userUuid}, 'Output ' || i, case i % 3 when 0 then 'rtmp' else 'rtsp' end, ${sealed.url},
      ${sealed.none}, 'listing ' || i, ${at(size.registered)}
    ${upTo(size.registered)}`;
  const noOutputs = sql.typed.sealed([]);
  await sql`
    insert into alerts (uuid, user_uuid, alias, type, status, configuration, output, weight, created_at)
    select ${uuid(alertUuid)}, ${userUuid}, 'Alert ' || i, 'filter-search', case i % 3 when 0 then 'inactive' else 'active' end,
      '{"trigger": {}, "region": {}, "filter": {}, "parameters": {}}', ${noOutputs}, 0, ${at(size.registered)}
    ${upTo(size.registered)}`;
  const [{ sources } = { sources: [] }] = await sql<{ sources: string[] }[]>`
    select jsonb_agg(uuid order by created_at) as sources from sources where user_uuid = ${userUuid}`;
  const source = sql`(${sql.json(sources)}::jsonb ->> (i % ${sources.length}::integer))::uuid`;
  await sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state,
      created_at, started_at, finished_at)
    select ${uuid(processUuid)}, ${userUuid}, ${source}, 'rtsp://camera', case i % 50 when 0 then 'count' else 'detect' end, '{}',
      true, 'stopped', case i % 100 when 0 then 'failed' else 'finished' end, ${at(size.processes)}, ${at(size.processes)},
      ${at(size.processes)} + interval '1 hour'
    ${upTo(size.processes)}`;
  await sql`
    insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings, best_confidence,
      mean_confidence, least_confidence, box, is_live)
    select uuid, i + 1, 0, case i % 10 when 0 then 'dog' else 'person' end, created_at, created_at + interval '20 seconds',
      100, 0.9, 0.8, 0.7, '[0, 0, 1, 1]', false
    from processes, generate_series(0, case uuid when ${processUuid} then ${size.tracks - 1}::integer else 0 end) as i
    where user_uuid = ${userUuid}`;
  while ((await writeEndedReports(sql)) > 0);
  await sql`
    with added as (
      insert into recordings (uuid, user_uuid, source_uuid, alias, node_uuid, started_at, stopped_at)
      select gen_random_uuid(), ${userUuid}, ${source}, 'Camera ' || i % ${size.sources}::integer, ${newUuid()},
        ${at(size.recordings)}, ${at(size.recordings)} + interval '1 hour'
      ${upTo(size.recordings)} returning uuid, started_at)
    insert into recording_segments (recording_uuid, index, started_at, duration_ms, size_bytes, stored_at)
    select uuid, i, started_at + i * interval '10 minutes', 600000, 1000000, now()
    from added, generate_series(0, 5) as i`;
  await sql`
    insert into clips (uuid, user_uuid, source_uuid, alias, is_file, from_ms, to_ms, state, created_at, ended_at)
    select gen_random_uuid(), ${userUuid}, ${source}, 'Camera', false, 0, 1000, case i % 20 when 0 then 'failed' else 'ready' end,
      ${at(size.clips)}, now()
    ${upTo(size.clips)}`;
  // Images hardly compress.
  // As bytes: `substr` of a text reads it from its beginning.
  const noise = Buffer.from(randomBytes((NOISE * 3) / 4).toString("base64"));
  for (let first = 0; first < size.notices; first += SOME) {
    const last = Math.min(size.notices, first + SOME) - 1;
    await sql`
      with rows as materialized (
        select i, gen_random_uuid() as uuid, ${at(size.notices)} as happened_at, ${source} as source_uuid
        from generate_series(${first}::integer, ${last}::integer) as i),
      added as (
        insert into notices (uuid, user_uuid, alert_uuid, process_uuid, source_uuid, happened_at, body, reviewed_at)
        select uuid, ${userUuid}, ${alertUuid}, ${processUuid}, source_uuid, happened_at,
          jsonb_build_object('id', uuid, 'alert_uuid', ${alertUuid}::text, 'alias', 'Gate', 'type', 'filter-search',
            'process_uuid', ${processUuid}::text, 'source_uuid', source_uuid, 'event', 'triggered',
            'timestamp', to_char(happened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'tracks', '[]'::jsonb,
            'data', jsonb_build_object('patch', jsonb_build_object('image', convert_from(substr(${noise}::bytea, 1 + ((i::bigint * ${size.patchBytes + 9}::integer) % ${NOISE - size.patchBytes}::integer)::integer, ${size.patchBytes}::integer), 'UTF8')))),
          case i % 10 when 0 then null else happened_at end
        from rows),
      classed as (
        insert into notice_classes (user_uuid, class_name, happened_at, uuid)
        select ${userUuid}, case i % 1000 when 0 then 'dog' else 'person' end, happened_at, uuid from rows)
      insert into evidence (notice_uuid, user_uuid, source_uuid, process_uuid, happened_at, has_snapshot, state, ended_at)
      select uuid, ${userUuid}, source_uuid, ${processUuid}, happened_at, true,
        case i % 500 when 0 then 'failed' else 'ready' end, happened_at
      from rows where i % 5 = 0`;
  }
  await sql`vacuum analyze`;
  return {
    sourceUuid,
    processUuid,
    alertUuid,
    alias: "Camera 7",
    middle: new Date(began.getTime() + (DAYS * DAY_MS) / 2),
  };
}
