/** Recorded telemetry of videos. */
import { firstOf, type Queries } from "./client.ts";
import { isoTime } from "./page.ts";

export interface TelemetryRow {
  readonly format: string;
  /** Null: it was found in the video. */
  readonly fileName: string | null;
  readonly samples: number;
  /** By the clock of the telemetry. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Added to those times to get the time in the video. */
  readonly offsetMs: number;
  readonly offsetErrorMs: number;
  readonly offsetMethod: string;
  readonly lack: string | null;
  readonly createdAt: string;
}

export interface NewTelemetry extends Omit<TelemetryRow, "createdAt"> {
  /** See server/telemetry/stored-samples.ts. */
  readonly content: Buffer;
}

const columns = (sql: Queries) => sql`
  format, file_name, samples, first_ms, last_ms, offset_ms, offset_error_ms, offset_method, lack,
  ${isoTime(sql, "created_at")} as created_at`;

/** Replaces what the source had. */
export async function saveTelemetry(sql: Queries, sourceUuid: string, given: NewTelemetry): Promise<void> {
  const { format, fileName, samples, firstMs, lastMs, offsetMs, offsetErrorMs, offsetMethod, lack, content } = given;
  await sql`delete from source_telemetry where source_uuid = ${sourceUuid}`;
  await sql`
    insert into source_telemetry
      (source_uuid, format, file_name, samples, first_ms, last_ms, offset_ms, offset_error_ms, offset_method, lack, content)
    values
      (${sourceUuid}, ${format}, ${fileName}, ${samples}, ${firstMs}, ${lastMs}, ${offsetMs}, ${offsetErrorMs},
       ${offsetMethod}, ${lack}, ${content})`;
}

export const findTelemetry = (sql: Queries, sourceUuid: string): Promise<TelemetryRow | null> =>
  firstOf(sql<TelemetryRow[]>`select ${columns(sql)} from source_telemetry where source_uuid = ${sourceUuid}`);

export const loadTelemetry = (
  sql: Queries,
  sourceUuid: string,
): Promise<Pick<NewTelemetry, "content" | "offsetMs" | "offsetErrorMs" | "lack"> | null> =>
  firstOf(sql<Pick<NewTelemetry, "content" | "offsetMs" | "offsetErrorMs" | "lack">[]>`
    select content, offset_ms, offset_error_ms, lack from source_telemetry where source_uuid = ${sourceUuid}`);

/** False: it had none. */
export async function deleteTelemetry(sql: Queries, sourceUuid: string): Promise<boolean> {
  const { count } = await sql`delete from source_telemetry where source_uuid = ${sourceUuid}`;
  return count > 0;
}
