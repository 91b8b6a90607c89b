/** Days of one camera in the database: recorded all day, analysed by one process, with alerts. */
import type { Sql } from "../../../server/store/client.ts";
import { newUuid } from "../../../server/uuid.ts";

export interface DayOptions {
  readonly userUuid: string;
  readonly sourceUuid: string;
  /** Start of the first day. */
  readonly from: Date;
  readonly days: number;
  readonly tracks: number;
  readonly notices: number;
  readonly segments: number;
}

/** Bytes of the picture in a notice. */
const PATCH = 8_000;

/** Returns the process. */
export async function addDays(sql: Sql, options: DayOptions): Promise<string> {
  const { userUuid, sourceUuid, from, days, tracks, notices, segments } = options;
  const [process, recording, alert] = [newUuid(), newUuid(), newUuid()];
  const to = new Date(from.getTime() + days * 86_400_000);
  await sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state,
      created_at, started_at, finished_at)
    values (${process}, ${userUuid}, ${sourceUuid}, 'rtsp://camera', 'detect', '{}', true, 'stopped', 'finished',
      ${from}, ${from}, ${to})`;
  await sql`
    insert into recordings (uuid, user_uuid, source_uuid, alias, node_uuid, started_at, stopped_at)
    values (${recording}, ${userUuid}, ${sourceUuid}, 'camera', ${newUuid()}, ${from}, ${to})`;
  // A day has one pause of ten minutes, from noon on.
  await sql`
    insert into recording_segments (recording_uuid, index, started_at, duration_ms, size_bytes)
    select ${recording}, i, ${from}::timestamptz + i * make_interval(secs => 86400.0 / ${segments}),
      case when i % ${segments} = ${segments >> 1} then 1000 else 86400000 / ${segments} end, 1000000
    from generate_series(0, ${days * segments - 1}) as i`;
  // Three of five are people, each for 20 seconds. Day by day: one statement would take too long.
  for (let day = 0; day < days; day += 1)
    await sql`
      insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings, best_confidence,
        mean_confidence, least_confidence, box, is_live)
      select ${process}, i + 1, 0, (array['person', 'car', 'person', 'truck', 'person'])[i % 5 + 1], seen,
        seen + interval '20 seconds', 100, 0.9, 0.8, 0.7, '[0, 0, 1, 1]', false
      from generate_series(${day * tracks}::integer, ${(day + 1) * tracks - 1}::integer) as i,
        lateral (select ${from}::timestamptz + i * make_interval(secs => 86400.0 / ${tracks}) as seen) as times`;
  for (let day = 0; day < days; day += 1)
    await sql`
      with added as (
        insert into notices (uuid, user_uuid, alert_uuid, process_uuid, source_uuid, happened_at, body)
        select gen_random_uuid(), ${userUuid}, ${alert}, ${process}, ${sourceUuid},
          ${from}::timestamptz + (i + 0.5) * make_interval(secs => 86400.0 / ${notices}),
          jsonb_build_object('id', gen_random_uuid(), 'alert_uuid', ${alert}::text, 'alias', 'Person at the gate', 'type', 'filter-search',
            'process_uuid', ${process}::text, 'source_uuid', ${sourceUuid}::text, 'event', 'triggered',
            'timestamp', to_char((${from}::timestamptz + (i + 0.5) * make_interval(secs => 86400.0 / ${notices})) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'tracks', '[]'::jsonb, 'data', jsonb_build_object('patch', jsonb_build_object('image', left(repeat(md5(i::text) || md5((-i)::text), ${Math.ceil(PATCH / 64)}), ${PATCH}))))
        from generate_series(${day * notices}::integer, ${(day + 1) * notices - 1}::integer) as i returning uuid, happened_at)
      insert into notice_classes (user_uuid, class_name, happened_at, uuid)
      select ${userUuid}, 'person', happened_at, uuid from added`;
  await sql`analyze tracks, notices, notice_classes, recording_segments, processes`;
  return process;
}
