/** Tracks of processes and the points of their paths. */

import type { JsonRecord } from "../../schemas/json.ts";
import type { TrackPatch, TrackPoint, TrackSummary } from "../../schemas/track-report.ts";
import type { Fragment, Queries, Sql } from "./client.ts";
import { filterBy, type TimeRange } from "./page.ts";

export interface NumberedPoint extends TrackPoint {
  /** Of this track, from 0. */
  readonly index: number;
}

/** An update of a track: the whole summary, and new points. */
export interface TrackUpdate extends TrackSummary {
  readonly processUuid: string;
  /** Of the claim under which it was made: tracks of a node that has lost the process are ignored. */
  readonly fence: number;
  readonly points: readonly NumberedPoint[];
  /** A better image than the stored one, or null. */
  readonly patch: TrackPatch | null;
}

/** Characters that PostgreSQL cannot store: model labels may contain anything. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is one of them.
const UNSTORABLE = /\u0000|\p{Surrogate}/gu;

/**
 * Idempotent. An older summary never replaces a newer one. Tracks of a deleted process, or of one that another node has
 * claimed meanwhile, are ignored.
 */
export async function writeTracks(sql: Sql, updates: readonly TrackUpdate[]): Promise<void> {
  const tracks = updates.map(({ points, patch: _, confidence, className, ...track }) => ({
    ...{ ...track, ...confidence },
    className: className.replaceAll(UNSTORABLE, "\ufffd"),
    ...findSpots(points),
  }));
  const patches = updates.flatMap(({ processUuid, fence, id, patch }) =>
    patch === null ? [] : [{ processUuid, fence, id, ...patch }],
  );
  const points = updates.flatMap(({ processUuid, fence, id, points }) =>
    points.map((point) => ({ processUuid, fence, id, ...flatten(point) })),
  );
  await sql.begin(async (sql) => {
    await sql`
      insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings,
        best_confidence, mean_confidence, least_confidence, box, is_live, first_spot, last_spot)
      select processes.uuid, id, "classId", "className", to_timestamp("firstSeenMs" / 1000.0),
        to_timestamp("lastSeenMs" / 1000.0), sightings, best, mean, least, box, "isLive",
        "firstSpot", "lastSpot"
      from jsonb_to_recordset(${sql.json(tracks)}) as updates (
        "processUuid" uuid, fence bigint, id bigint, "classId" integer, "className" text, "firstSeenMs" numeric, "lastSeenMs" numeric,
        sightings integer, best double precision,
        mean double precision, least double precision, box jsonb, "isLive" boolean, "firstSpot" jsonb,
        "lastSpot" jsonb)
      join processes on processes.uuid = "processUuid" and processes.fence = updates.fence
      on conflict (process_uuid, track_id) do update set
        class_id = excluded.class_id, class_name = excluded.class_name, first_seen = excluded.first_seen,
        last_seen = excluded.last_seen, sightings = excluded.sightings, best_confidence = excluded.best_confidence,
        mean_confidence = excluded.mean_confidence, least_confidence = excluded.least_confidence, box = excluded.box,
        is_live = tracks.is_live and excluded.is_live,
        first_spot = coalesce(tracks.first_spot, excluded.first_spot),
        last_spot = coalesce(excluded.last_spot, tracks.last_spot), report = null
      where tracks.sightings <= excluded.sightings`;
    if (points.length > 0)
      await sql`
        insert into track_points (process_uuid, track_id, index, seen_at, confidence, box_left, box_top, box_width,
          box_height, latitude, longitude, altitude, error_m, speed_mps, heading)
        select processes.uuid, id, index, to_timestamp("timeMs" / 1000.0), confidence, "left", top, width, height,
          latitude, longitude, altitude, "errorM", "speedMps", heading
        from jsonb_to_recordset(${sql.json(points)}) as points (
          "processUuid" uuid, fence bigint, id bigint, index integer, "timeMs" numeric, confidence double precision,
          "left" double precision, top double precision, width double precision, height double precision,
          latitude double precision, longitude double precision, altitude double precision, "errorM" double precision,
          "speedMps" double precision, heading double precision)
        join processes on processes.uuid = "processUuid" and processes.fence = points.fence
        on conflict do nothing`;
    if (patches.length > 0)
      await sql`
        insert into track_patches (process_uuid, track_id, seen_at, confidence, jpeg)
        select processes.uuid, id, to_timestamp("timeMs" / 1000.0), confidence, decode(jpeg, 'base64')
        from jsonb_to_recordset(${sql.json(patches)}) as patches (
          "processUuid" uuid, fence bigint, id bigint, "timeMs" numeric, confidence double precision, jpeg text)
        join processes on processes.uuid = "processUuid" and processes.fence = patches.fence
        on conflict (process_uuid, track_id) do update set
          seen_at = excluded.seen_at, confidence = excluded.confidence, jpeg = excluded.jpeg`;
  });
}

/** First and last position of these points; undefined is null in JSON. */
function findSpots(points: readonly TrackPoint[]): { firstSpot?: JsonRecord; lastSpot?: JsonRecord } {
  const show = ({ timeMs, spot }: TrackPoint): JsonRecord => ({
    ...{ latitude: spot?.latitude ?? 0, longitude: spot?.longitude ?? 0, altitude: spot?.altitude ?? 0 },
    timeMs,
  });
  const known = points.filter(({ spot }) => spot !== null);
  const [first, last] = [known[0], known.at(-1)];
  return first === undefined || last === undefined ? {} : { firstSpot: show(first), lastSpot: show(last) };
}

function flatten({ index, timeMs, confidence, box, spot }: NumberedPoint) {
  const [left, top, width, height] = box;
  return { index, timeMs, confidence, left, top, width, height, ...spot };
}

/** Tracks of a process up to this one. */
export interface EndedTracks {
  readonly processUuid: string;
  readonly fence: number;
  readonly lastTrackId: number;
}

/** The runner that followed them has ended. */
export async function endTracks(sql: Queries, ended: readonly EndedTracks[]): Promise<void> {
  if (ended.length === 0) return;
  await sql`
    update tracks set is_live = false
    from jsonb_to_recordset(${sql.json(ended.map((one) => ({ ...one })))})
      as ended ("processUuid" uuid, fence bigint, "lastTrackId" bigint)
      join processes on processes.uuid = "processUuid" and processes.fence = ended.fence
    where process_uuid = "processUuid" and track_id <= "lastTrackId" and is_live`;
}

export type SummaryRow = Omit<TrackSummary, "confidence"> & TrackSummary["confidence"];

export const summaryColumns = (sql: Queries) => sql`
  track_id as id, class_id, class_name, round(extract(epoch from first_seen) * 1000)::bigint as first_seen_ms,
  round(extract(epoch from last_seen) * 1000)::bigint as last_seen_ms, sightings, best_confidence as best,
  mean_confidence as mean, least_confidence as least, box, is_live`;

export interface TrackFilter {
  readonly className?: string | undefined;
  /** It was visible then. */
  readonly visible?: TimeRange | undefined;
  /** Corners of a polygon, in pixels: it was there. */
  readonly zone?: readonly Corner[] | undefined;
  /** Longitudes and latitudes. */
  readonly geoZone?: readonly Corner[] | undefined;
}

export type Corner = readonly [x: number, y: number];

/** Each after an `and`. */
export function matchTracks(sql: Queries, { className, visible = {}, zone, geoZone }: TrackFilter): Fragment {
  const wasIn = (corners: readonly Corner[] | undefined, place: Fragment): Fragment =>
    corners === undefined
      ? sql``
      : sql`and exists (
          select from track_points as points
          where (points.process_uuid, points.track_id) = (tracks.process_uuid, tracks.track_id)
            and ${`(${corners.map((corner) => `(${corner})`).join()})`}::text::polygon @> ${place})`;
  return sql`
    ${filterBy(sql, {
      class_name: className,
      "tracks.last_seen": { from: visible.from },
      "tracks.first_seen": { to: visible.to },
    })}
    ${wasIn(zone, sql`point(box_left + box_width / 2, box_top + box_height)`)}
    ${wasIn(geoZone, sql`point(longitude, latitude)`)}`;
}

/** By id, above `after`. */
export async function readTracks(
  sql: Queries,
  processUuid: string,
  { after, limit, filter = {} }: { readonly after: number; readonly limit: number; readonly filter?: TrackFilter },
): Promise<readonly TrackSummary[]> {
  const rows = await sql<SummaryRow[]>`
    select ${summaryColumns(sql)} from tracks
    where process_uuid = ${processUuid} and track_id > ${after} ${matchTracks(sql, filter)}
    order by track_id limit ${limit}`;
  return rows.map(({ best, mean, least, ...row }) => ({ ...row, confidence: { best, mean, least } }));
}

export interface PointPlace {
  readonly trackId: number;
  readonly index: number;
}

/** A flat row: the export of a long process reads millions of them. */
interface PointRow
  extends PointPlace,
    Pick<TrackPoint, "timeMs" | "confidence">,
    Omit<NonNullable<TrackPoint["spot"]>, "latitude"> {
  readonly latitude: number | null;
  readonly boxLeft: number;
  readonly boxTop: number;
  readonly boxWidth: number;
  readonly boxHeight: number;
}

/** By track and index, after `after`, of tracks up to `lastTrackId`. */
export async function readPoints(
  sql: Queries,
  processUuid: string,
  { after, lastTrackId }: { readonly after: PointPlace; readonly lastTrackId: number },
  limit: number,
): Promise<readonly (PointPlace & { readonly point: TrackPoint })[]> {
  const rows = await sql<PointRow[]>`
    select track_id, index, round(extract(epoch from seen_at) * 1000)::bigint as time_ms, confidence, box_left, box_top,
      box_width, box_height, latitude, longitude, altitude, error_m, speed_mps, heading
    from track_points
    where process_uuid = ${processUuid} and (track_id, index) > (${after.trackId}::bigint, ${after.index}::integer)
      and track_id <= ${lastTrackId}
    order by track_id, index limit ${limit}`;
  return rows.map((row) => ({ trackId: row.trackId, index: row.index, point: toPoint(row) }));
}

function toPoint(row: PointRow): TrackPoint {
  const { timeMs, confidence, boxLeft, boxTop, boxWidth, boxHeight, latitude } = row;
  const { longitude, altitude, errorM, speedMps, heading } = row;
  const spot = latitude === null ? null : { latitude, longitude, altitude, errorM, speedMps, heading };
  return { timeMs, confidence, box: [boxLeft, boxTop, boxWidth, boxHeight], spot };
}

/** Up to `most` points and tracks, also of running processes. Resolves with the number removed. */
export async function removeOldTracks(sql: Sql, before: Date, most: number): Promise<number> {
  const points = await sql`
    delete from track_points
    where ctid = any(array(select ctid from track_points where seen_at < ${before} limit ${most} for update skip locked))`;
  const [tracks] = await sql<[{ count: number }]>`
    with gone as (
      delete from tracks
      where ctid = any(array(select ctid from tracks where last_seen < ${before} limit ${most} for update skip locked))
      returning process_uuid, track_id),
    pictures as (
      delete from track_patches using gone
      where (track_patches.process_uuid, track_patches.track_id) = (gone.process_uuid, gone.track_id))
    select count(*)::integer as count from gone`;
  return points.count + tracks.count;
}
