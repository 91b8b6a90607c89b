/** Outputs of a user, and the outputs and branches attached to processes. */
import type { OUTPUT_CODECS, OUTPUT_TYPES, TakSettings } from "../../schemas/api/outputs.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import type { User } from "../user.ts";
import { codeOf, firstOf, type Queries, type Sql, writtenRow } from "./client.ts";
import { isSourcePath, pathInUse } from "./hub-paths.ts";
import { byCreationOrAlias, fetchPage, filterBy, isoTime, type Page, type PageRequest } from "./page.ts";
import { lockUser } from "./users.ts";

export interface OutputRow {
  readonly uuid: string;
  readonly alias: string;
  readonly type: (typeof OUTPUT_TYPES)[number];
  /** With credentials. */
  readonly url: string | null;
  readonly settings: "360p" | "720p" | "1080p" | null;
  readonly codec: (typeof OUTPUT_CODECS)[number];
  /** Drawings on the video. */
  readonly boxes: boolean;
  /** Kilobits per second; null: that of the resolution. */
  readonly bitrate: number | null;
  /** With the sound of the source. */
  readonly audio: boolean;
  /** Of `cot`, with its private key. */
  readonly tak: TakSettings | null;
  readonly createdAt: string;
  /** The process that it is attached to, and its state. */
  readonly attachedTo: string | null;
  readonly processState: string | null;
}

export interface NewOutputRow
  extends Pick<
    OutputRow,
    "uuid" | "alias" | "type" | "url" | "settings" | "codec" | "boxes" | "bitrate" | "audio" | "tak"
  > {
  /** Equal for identical outputs of the user: 32 bytes. */
  readonly identity: Buffer;
  /** Of rtsp: `<username>/<path>` on the media hub. */
  readonly hubPath: string | null;
}

const FOREIGN_KEY_VIOLATION = "23503";

const columns = (sql: Queries) => sql`
  outputs.uuid, outputs.alias, outputs.type, outputs.url, outputs.settings, outputs.codec, outputs.boxes,
  outputs.bitrate, outputs.audio, outputs.tak,
  ${isoTime(sql, "outputs.created_at")} as created_at,
  processes.uuid as attached_to, processes.state as process_state`;

/** An output of a process that has ended counts as detached. */
const tables = (sql: Queries) => sql`
  outputs left join process_outputs on process_outputs.output_uuid = outputs.uuid
  left join processes
    on processes.uuid = process_outputs.process_uuid and processes.state not in ('finished', 'failed')`;

export interface OutputsRequest extends PageRequest {
  readonly type?: string | undefined;
  readonly alias?: string | undefined;
  /** The process that it is attached to. */
  readonly processUuid?: string | undefined;
}

export const listOutputs = (sql: Sql, userUuid: string, request: OutputsRequest): Promise<Page<OutputRow>> =>
  fetchPage(sql, request, byCreationOrAlias<OutputRow>("outputs"), (end) => {
    const { type, alias, processUuid } = request;
    const filters = { "outputs.type": type, "outputs.alias": alias, "processes.uuid": processUuid };
    return sql<OutputRow[]>`
      select ${columns(sql)} from ${tables(sql)} where outputs.user_uuid = ${userUuid} ${filterBy(sql, filters)} ${end}`;
  });

/** Rejects with `output_not_found`, also for outputs of other users. */
export async function findOutput(sql: Queries, userUuid: string, uuid: string): Promise<OutputRow> {
  const [row] = await sql<OutputRow[]>`
    select ${columns(sql)} from ${tables(sql)} where outputs.user_uuid = ${userUuid} and outputs.uuid = ${uuid}`;
  if (row === undefined) throw notFound(uuid);
  return row;
}

export const findIdenticalOutput = (sql: Queries, userUuid: string, identity: Buffer): Promise<OutputRow | null> =>
  firstOf(sql<OutputRow[]>`
    select ${columns(sql)} from ${tables(sql)}
    where outputs.user_uuid = ${userUuid} and outputs.identity = ${sql.typed.sealed(identity.toString("hex"))}`);

/** Returns an identical output if there is one. Rejects with `outputs_limit_reached`. */
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
        detail: `output limit reached for this key (${most}); delete one first (DELETE /output/{output_uuid})`,
      });
    }
    const { uuid, alias, type, url, settings, codec, boxes, bitrate, audio, tak, identity, hubPath } = output;
    if (hubPath !== null && (await isSourcePath(transaction, userUuid, hubPath))) throw pathInUse(hubPath, "a source");
    await transaction`
      insert into outputs (uuid, user_uuid, alias, type, url, settings, codec, boxes, bitrate, audio, tak, identity,
        hub_path, created_at)
      values (${uuid}, ${userUuid}, ${alias}, ${type}, ${transaction.typed.sealed(url)}, ${settings}, ${codec}, ${boxes},
        ${bitrate}, ${audio}, ${transaction.typed.sealed(tak)}, ${transaction.typed.sealed(identity.toString("hex"))}, ${hubPath}, clock_timestamp())`;
    return { output: await findOutput(transaction, userUuid, uuid), isNew: true };
  });
}

/** Rejects with `output_in_use` while it is attached, unless only the alias changes, and with `output_exists`. */
export function updateOutput(
  sql: Sql,
  userUuid: string,
  uuid: string,
  { alias, url, settings, codec, boxes, bitrate, audio, identity, hubPath }: Omit<NewOutputRow, "uuid">,
): Promise<OutputRow> {
  return sql.begin(async (transaction) => {
    await lockUser(transaction, userUuid);
    const { attachedTo } = await findOutput(transaction, userUuid, uuid);
    const twin = await findIdenticalOutput(transaction, userUuid, identity);
    if (twin !== null && twin.uuid !== uuid)
      throw new ServiceError("output_exists", {
        detail: `the output ${twin.uuid} has the same type, URL and settings; use that one, or delete it first`,
      });
    if (twin === null && attachedTo !== null)
      throw new ServiceError("output_in_use", {
        detail: `this output is attached; only its alias can be changed now. Detach it first (DELETE /process/${attachedTo}/${uuid})`,
      });
    if (twin === null && hubPath !== null && (await isSourcePath(transaction, userUuid, hubPath)))
      throw pathInUse(hubPath, "a source");
    await transaction`
      update outputs set alias = ${alias}, url = ${transaction.typed.sealed(url)}, settings = ${settings}, codec = ${codec},
        boxes = ${boxes}, bitrate = ${bitrate}, audio = ${audio},
        identity = ${transaction.typed.sealed(identity.toString("hex"))}, hub_path = ${hubPath}
      where uuid = ${uuid}`;
    return findOutput(transaction, userUuid, uuid);
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
      // Attached at this very moment.
      throw codeOf(error) === FOREIGN_KEY_VIOLATION ? inUse(error) : error;
    });
}

const notFound = (uuid: string): ServiceError =>
  new ServiceError("output_not_found", { detail: `there is no output ${uuid}; GET /outputs lists yours` });

export interface AttachedOutput extends Pick<OutputRow, "type" | "url" | "settings" | "codec"> {
  readonly boxes?: boolean;
  readonly bitrate?: number | null;
  readonly audio?: boolean;
  readonly alias?: string;
  readonly tak?: TakSettings | null;
  readonly outputUuid: string;
  /** Of its owner: rtsp outputs are served below it. */
  readonly username: string;
}

/** Attaching it again has no effect. */
export async function attachOutput(
  sql: Sql,
  user: User,
  processUuid: string,
  outputUuid: string,
): Promise<AttachedOutput> {
  return sql.begin(async (sql) => {
    await lockUser(sql, user.uuid);
    const output = await findToAttach(sql, user.uuid, outputUuid);
    const [holder] = await sql<{ processUuid: string }[]>`
      select process_uuid from process_outputs where output_uuid = ${outputUuid}`;
    if (holder?.processUuid === processUuid) return output;
    if (holder !== undefined)
      throw new ServiceError("output_in_use", {
        detail: `the output is attached to process ${holder.processUuid}; detach it first (DELETE /process/${holder.processUuid}/${outputUuid}) or register another`,
      });
    await expectActiveOutput(sql, user);
    await expectAlone(sql, user.uuid, output);
    await sql`insert into process_outputs (output_uuid, process_uuid) values (${outputUuid}, ${processUuid})`;
    return output;
  });
}

const selectAttached = (sql: Queries, processUuid: string) => sql`
  select output_uuid, alias, type, url, settings, codec, boxes, bitrate, audio, tak, username
  from process_outputs join outputs on outputs.uuid = output_uuid join users on users.uuid = outputs.user_uuid
  where process_uuid = ${processUuid}`;

/** Null if it is not attached to this process. */
export const findAttached = (sql: Queries, processUuid: string, outputUuid: string): Promise<AttachedOutput | null> =>
  firstOf(sql<AttachedOutput[]>`${selectAttached(sql, processUuid)} and output_uuid = ${outputUuid}`);

export async function detachOutput(sql: Queries, processUuid: string, outputUuid: string): Promise<void> {
  await sql`delete from process_outputs where process_uuid = ${processUuid} and output_uuid = ${outputUuid}`;
}

export const listAttached = (sql: Queries, processUuid: string): Promise<readonly AttachedOutput[]> =>
  sql<AttachedOutput[]>`${selectAttached(sql, processUuid)} order by attached_at, output_uuid`;

async function findToAttach(sql: Queries, userUuid: string, outputUuid: string): Promise<AttachedOutput> {
  const [found] = await sql<AttachedOutput[]>`
    select outputs.uuid as output_uuid, alias, type, url, settings, codec, boxes, bitrate, audio, tak, username
    from outputs join users on users.uuid = outputs.user_uuid
    where outputs.uuid = ${outputUuid} and user_uuid = ${userUuid} for key share of outputs`;
  if (found === undefined) throw notFound(outputUuid);
  return found;
}

/** Two outputs to one address would conflict. */
async function expectAlone(sql: Queries, userUuid: string, { outputUuid, url }: AttachedOutput): Promise<void> {
  if (url === null) return;
  const [other] = await sql<{ outputUuid: string; processUuid: string }[]>`
    select output_uuid, process_uuid
    from process_outputs join outputs on outputs.uuid = output_uuid
    where user_uuid = ${userUuid} and url = ${sql.typed.sealed(url)} and output_uuid <> ${outputUuid} limit 1`;
  if (other === undefined) return;
  const { outputUuid: uuid, processUuid } = other;
  throw new ServiceError("path_in_use", {
    detail: `the output ${uuid} with the same URL is attached to process ${processUuid}; detach it first (DELETE /process/${processUuid}/${uuid}) or register this one with another URL`,
  });
}

/** Rejects with `outputs_limit_reached`. The user is locked. */
async function expectActiveOutput(sql: Queries, { uuid, limits: { outputsActive: limit } }: User): Promise<void> {
  const [{ active = 0 } = {}] = await sql<{ active: number }[]>`
    select
      (select count(*) from process_outputs join outputs on outputs.uuid = output_uuid where user_uuid = ${uuid})
      + (select count(*) from process_branches join processes on processes.uuid = process_uuid
         where user_uuid = ${uuid} and state not in ('finished', 'failed')) as active`;
  if (active >= limit)
    throw new ServiceError("outputs_limit_reached", {
      detail: `active output limit reached for this key (${limit} outputs and branches); detach one and try again`,
    });
}

/** A slot that a client has attached to a process. It counts as an active output. */
export interface BranchRow {
  readonly uuid: string;
  readonly slot: string;
  readonly params: JsonRecord;
  readonly attachedAt: Date;
}

export type NewBranch = Pick<BranchRow, "uuid" | "slot" | "params">;

/** Rejects with `outputs_limit_reached`. */
export function insertBranch(sql: Sql, user: User, processUuid: string, branch: NewBranch): Promise<BranchRow> {
  const { uuid, slot, params } = branch;
  return sql.begin(async (sql) => {
    await lockUser(sql, user.uuid);
    await expectActiveOutput(sql, user);
    return writtenRow(sql<BranchRow[]>`
      insert into process_branches (uuid, process_uuid, slot, params)
      values (${uuid}, ${processUuid}, ${slot}, ${sql.json(params)})
      returning uuid, slot, params, attached_at`);
  });
}

export async function deleteBranch(sql: Queries, processUuid: string, uuid: string): Promise<void> {
  await sql`delete from process_branches where process_uuid = ${processUuid} and uuid = ${uuid}`;
}

/** In the order of attachment. */
export const listBranches = (sql: Queries, processUuid: string): Promise<readonly BranchRow[]> => sql<BranchRow[]>`
  select uuid, slot, params, attached_at from process_branches
  where process_uuid = ${processUuid} order by attached_at, uuid`;
