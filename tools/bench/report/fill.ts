/** Writes a finished process of 24 hours directly into the database. */
import { pino } from "pino";
import { type Address, connectClient, type Sql } from "../../../server/store/client.ts";
import { CLOSED } from "../../../server/store/sealing/keyring.ts";
import { writeEndedReports } from "../../../server/store/track-reports.ts";
import { newUuid } from "../../../server/uuid.ts";

export interface ReportSize {
  readonly tracks: number;
  readonly pointsEach: number;
  readonly parked: number;
  readonly parkedPoints: number;
  readonly patchBytes: number;
}

const LIMITS = { url: null, connections: 2, start_seconds: 60, statement_seconds: 600 };
const DAY_SECONDS = 86_400;
/** Yesterday: older data than `report.retention_days` would be deleted during the run. */
const BEGAN_S = Math.floor(Date.now() / 1000) - DAY_SECONDS - 3600;
/** Rows per statement. */
const SOME = 5_000;

/** Resolves with the uuid of the process. */
export async function fillReport(address: Address, size: ReportSize, say: (text: string) => void): Promise<string> {
  const sql = connectClient(address, LIMITS, pino({ level: "silent" }), CLOSED);
  try {
    const uuid = await insertProcess(sql);
    for (let first = 1; first <= size.tracks; first += SOME) {
      const last = Math.min(size.tracks, first + SOME - 1);
      await insertTracks(sql, uuid, size, first, last);
    }
    const began = performance.now();
    while ((await writeEndedReports(sql)) > 0);
    const each = (performance.now() - began) / size.tracks;
    say(`assembling the reports of ended tracks took ${each.toFixed(3)} ms each`);
    await sql`vacuum analyze`;
    return uuid;
  } finally {
    await sql.end();
  }
}

async function insertProcess(sql: Sql): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state,
      created_at, started_at, finished_at)
    select ${uuid}, uuid, ${newUuid()}, 'rtsp://camera/main', 'detect', '{}', true, 'stopped', 'finished',
      to_timestamp(${BEGAN_S}::double precision), to_timestamp(${BEGAN_S}::double precision), to_timestamp(${BEGAN_S + DAY_SECONDS}::double precision)
    from users limit 1`;
  return uuid;
}

/** The first `parked` tracks last all day; the others follow one another. */
async function insertTracks(sql: Sql, uuid: string, size: ReportSize, first: number, last: number): Promise<void> {
  const begin = sql`(case when id <= ${size.parked}::integer then 0 else
    ${DAY_SECONDS - 60}::double precision * id / ${size.tracks}::integer end)`;
  const length = sql`(case when id <= ${size.parked}::integer then ${DAY_SECONDS}::integer else ${size.pointsEach}::integer end)`;
  const points = sql`(case when id <= ${size.parked}::integer then ${size.parkedPoints}::integer else ${size.pointsEach}::integer end)`;
  const spot = sql`jsonb_build_object('latitude', 48.1372345, 'longitude', 11.5755123, 'altitude', 519.25,
    'timeMs', ${BEGAN_S}::bigint * 1000)`;
  await sql`
    insert into track_points (process_uuid, track_id, index, seen_at, confidence, box_left, box_top, box_width, box_height,
      latitude, longitude, altitude, error_m, speed_mps, heading)
    select ${uuid}, id, index, to_timestamp(${BEGAN_S}::double precision + ${begin} + ${length} * index::double precision / ${points}),
      0.5 + 0.4 * random(), 480.25, 540.5, 240.75, 270, 48.1 + random() / 100, 11.5 + random() / 100, 519.25, 1.4, 11.1, 90
    from generate_series(${first}::integer, ${last}::integer) as id, generate_series(0, ${points} - 1) as index`;
  await sql`
    insert into track_patches
    select ${uuid}, id, to_timestamp(${BEGAN_S}::double precision + ${begin}), 0.9, decode(repeat(md5(id::text), ${size.patchBytes / 16}::integer), 'hex')
    from generate_series(${first}::integer, ${last}::integer) as id`;
  // Last: the server assembles the report of a track as soon as it finds one that has ended.
  await sql`
    insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings, best_confidence,
      mean_confidence, least_confidence, box, is_live, first_spot, last_spot)
    select ${uuid}, id, 2, 'car', to_timestamp(${BEGAN_S}::double precision + ${begin}), to_timestamp(${BEGAN_S}::double precision + ${begin} + ${length}),
      ${points} * 10, 0.9127, 0.8342, 0.6213, '[480.25, 540.5, 240.75, 270]', false, ${spot}, ${spot}
    from generate_series(${first}::integer, ${last}::integer) as id`;
}
