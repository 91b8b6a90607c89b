/** The calibration of the heading of sources. */
import { firstOf, type Queries, writtenRow } from "./client.ts";

export interface CalibrationRow {
  readonly sourceUuid: string;
  /** Added to the reported heading, clockwise. */
  readonly headingOffsetDeg: number;
  /** One standard deviation. */
  readonly headingErrorDeg: number;
  /** Number of landmarks that it was found with. */
  readonly landmarks: number;
  readonly calibratedAt: Date;
}

type NewCalibration = Omit<CalibrationRow, "calibratedAt">;

/** Of the sources that have one. */
export const listCalibrations = async (
  sql: Queries,
  sourceUuids: readonly string[],
): Promise<readonly CalibrationRow[]> =>
  sourceUuids.length === 0
    ? []
    : sql<CalibrationRow[]>`select * from source_calibrations where source_uuid in ${sql([...new Set(sourceUuids)])}`;

export const findCalibration = (sql: Queries, sourceUuid: string): Promise<CalibrationRow | null> =>
  firstOf(sql<CalibrationRow[]>`select * from source_calibrations where source_uuid = ${sourceUuid}`);

/** Replaces the one before. */
export const saveCalibration = (sql: Queries, calibration: NewCalibration): Promise<CalibrationRow> => {
  const { sourceUuid, headingOffsetDeg, headingErrorDeg, landmarks } = calibration;
  return writtenRow(sql<CalibrationRow[]>`
    insert into source_calibrations (source_uuid, heading_offset_deg, heading_error_deg, landmarks)
    values (${sourceUuid}, ${headingOffsetDeg}, ${headingErrorDeg}, ${landmarks})
    on conflict (source_uuid) do update set heading_offset_deg = excluded.heading_offset_deg,
      heading_error_deg = excluded.heading_error_deg, landmarks = excluded.landmarks, calibrated_at = now()
    returning *`);
};

/** False: there was none. */
export async function deleteCalibration(sql: Queries, sourceUuid: string): Promise<boolean> {
  const { count } = await sql`delete from source_calibrations where source_uuid = ${sourceUuid}`;
  return count > 0;
}

/** A process on this source that runs on any node; null: there is none. */
export async function findRunningOn(sql: Queries, userUuid: string, sourceUuid: string): Promise<string | null> {
  const row = await firstOf(sql<{ uuid: string }[]>`
    select uuid from processes
    where user_uuid = ${userUuid} and source_uuid = ${sourceUuid} and state not in ('finished', 'failed')
      and telemetry_cfg is not null
    order by created_at desc limit 1`);
  return row?.uuid ?? null;
}
