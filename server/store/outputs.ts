/** Registered outputs of a user. */
import type { OUTPUT_TYPES } from "../../schemas/api/outputs.ts";
import { ServiceError } from "../service-error.ts";
import type { Queries, Sql } from "./client.ts";
import { isSourcePath, pathInUse } from "./hub-paths.ts";
import { isoTime } from "./iso-time.ts";
import { lockUser } from "./lock-user.ts";
import { cutPage, type Page, type PageRequest, readPage } from "./page.ts";

export interface OutputRow {
  readonly uuid: string;
  readonly alias: string;
  readonly type: (typeof OUTPUT_TYPES)[number];
  /** With credentials. */
  readonly url: string | null;
  readonly settings: "360p" | "720p" | "1080p" | null;
  readonly createdAt: string;
  /** The process that it is attached to, and the state of that one. */
  readonly attachedTo: string | null;
  readonly processState: string | null;
}

export interface NewOutputRow extends Pick<OutputRow, "uuid" | "alias" | "type" | "url" | "settings"> {
  /** What makes it the same as another of the user's: 32 bytes. */
  readonly identity: Buffer;
  /** Of rtsp: `<username>/<path>` at the media hub. */
  readonly hubPath: string | null;
}

const FOREIGN_KEY_VIOLATION = "23503";

const columns = (sql: Queries) => sql`
  outputs.uuid, outputs.alias, outputs.type, outputs.url, outputs.settings,
  ${isoTime(sql, sql`outputs.created_at`)} as created_at,
  processes.uuid as attached_to, processes.state as process_state`;

/** What is attached to a process that has ended is attached no longer. */
const tables = (sql: Queries) => sql`
  outputs left join process_outputs on process_outputs.output_uuid = outputs.uuid
  left join processes
    on processes.uuid = process_outputs.process_uuid and processes.state not in ('finished', 'failed')`;

export async function listOutputs(sql: Sql, userUuid: string, request: PageRequest): Promise<Page<OutputRow>> {
  const { place, fetch } = readPage(request);
  const rows = await sql<OutputRow[]>`
    select ${columns(sql)} from ${tables(sql)}
    where outputs.user_uuid = ${userUuid}
    ${place === null ? sql`` : sql`and (outputs.created_at, outputs.uuid) < (${place.createdAt}::text::timestamptz, ${place.uuid})`}
    order by outputs.created_at desc, outputs.uuid desc limit ${fetch}`;
  return cutPage(rows, request, (row) => row);
}

/** Rejects with `output_not_found`, for those of other users too. */
export async function findOutput(sql: Queries, userUuid: string, uuid: string): Promise<OutputRow> {
  const [row] = await sql<OutputRow[]>`
    select ${columns(sql)} from ${tables(sql)} where outputs.user_uuid = ${userUuid} and outputs.uuid = ${uuid}`;
  if (row === undefined) throw notFound(uuid);
  return row;
}

export async function findIdenticalOutput(sql: Queries, userUuid: string, identity: Buffer): Promise<OutputRow | null> {
  const [row] = await sql<OutputRow[]>`
    select ${columns(sql)} from ${tables(sql)} where outputs.user_uuid = ${userUuid} and outputs.identity = ${sql.typed.sealed(identity.toString("hex"))}`;
  return row ?? null;
}

/** The identical one if there is one; else it is written, if there are fewer than `most`. */
export function registerOutput(
  sql: Sql,
  userUuid: string,
  output: NewOutputRow,
  most: number,
): Promise<{ readonly output: OutputRow; readonly isNew: boolean }> {
  return sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const identical = await findIdenticalOutput(transaction, userUuid, output.identity);
    if (identical !== null) return { output: identical, isNew: false };
    const [{ count = 0 } = {}] = await transaction<{ count: number }[]>`
      select count(*) from outputs where user_uuid = ${userUuid}`;
    if (count >= most) {
      throw new ServiceError("outputs_limit_reached", {
        detail: `${count} outputs are registered and this key may have ${most}; delete one first (DELETE /output/{output_uuid})`,
      });
    }
    const { uuid, alias, type, url, settings, identity, hubPath } = output;
    if (hubPath !== null && (await isSourcePath(transaction, userUuid, hubPath))) throw pathInUse(hubPath, "a source");
    await transaction`
      insert into outputs (uuid, user_uuid, alias, type, url, settings, identity, hub_path, created_at)
      values (${uuid}, ${userUuid}, ${alias}, ${type}, ${transaction.typed.sealed(url)}, ${settings},
        ${transaction.typed.sealed(identity.toString("hex"))}, ${hubPath}, clock_timestamp())`;
    return { output: await findOutput(transaction, userUuid, uuid), isNew: true };
  });
}

/** Rejects with `output_in_use` while it is attached to a process that has not ended. */
export async function deleteOutput(sql: Sql, userUuid: string, uuid: string): Promise<void> {
  const inUse = (cause?: unknown) =>
    new ServiceError("output_in_use", {
      detail: "this output is attached; detach it first (DELETE /process/{process_uuid}/{output_uuid})",
      cause,
    });
  await sql
    .begin(async (transaction) => {
      const { attachedTo } = await findOutput(transaction, userUuid, uuid);
      if (attachedTo !== null) throw inUse();
      await transaction`
        delete from process_outputs using processes
        where output_uuid = ${uuid} and processes.uuid = process_uuid and processes.state in ('finished', 'failed')`;
      const { count } = await transaction`delete from outputs where user_uuid = ${userUuid} and uuid = ${uuid}`;
      if (count === 0) throw notFound(uuid);
    })
    .catch((error: unknown) => {
      // Attached in this very moment: the database held on to it.
      if (error instanceof Error && "code" in error && error.code === FOREIGN_KEY_VIOLATION) throw inUse(error);
      throw error;
    });
}

const notFound = (uuid: string): ServiceError =>
  new ServiceError("output_not_found", { detail: `there is no output ${uuid}; GET /outputs lists yours` });
