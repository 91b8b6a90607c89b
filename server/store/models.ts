/** Models that users have uploaded, with their files. */
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries, type Sql } from "./client.ts";
import { lockUser } from "./users.ts";

export interface ModelRow {
  readonly uuid: string;
  readonly userUuid: string;
  readonly name: string;
  /** SHA-256 of the ONNX file, in hexadecimal. */
  readonly digest: string;
  readonly sizeBytes: number;
  readonly card: JsonRecord;
  readonly labels: readonly string[];
  /** Name of the key that uploaded it. */
  readonly author: string;
  readonly createdAt: Date;
}

type NewModel = Omit<ModelRow, "createdAt">;

/** Of a file in the database. */
const PART_BYTES = 2 ** 20;

/** By name. */
export const listModels = (sql: Queries, userUuid: string): Promise<readonly ModelRow[]> =>
  sql<ModelRow[]>`select * from models where user_uuid = ${userUuid} order by name`;

export const listUsableModels = (
  sql: Queries,
  userUuid: string,
): Promise<readonly Pick<ModelRow, "name" | "labels">[]> =>
  sql<ModelRow[]>`select name, labels from models where user_uuid = ${userUuid} order by name`;

export const findModel = (sql: Queries, userUuid: string, name: string): Promise<ModelRow | null> =>
  firstOf(sql<ModelRow[]>`select * from models where user_uuid = ${userUuid} and name = ${name}`);

/** Of these, those that are stored. */
export async function findModelUuids(sql: Queries, uuids: readonly string[]): Promise<ReadonlySet<string>> {
  if (uuids.length === 0) return new Set();
  const rows = await sql<{ uuid: string }[]>`select uuid from models where uuid::text in ${sql([...uuids])}`;
  return new Set(rows.map(({ uuid }) => uuid));
}

/**
 * With its file. `isNew` false: the same model is stored already. Rejects with `model_name_taken` if another one has its
 * name, or with `models_limit_reached`.
 */
export async function insertModel(
  sql: Sql,
  model: NewModel,
  file: AsyncIterable<Buffer>,
  limit: number,
): Promise<{ readonly row: ModelRow; readonly isNew: boolean }> {
  const { uuid, userUuid, name, digest, card, labels } = model;
  return sql.begin(async (sql) => {
    await lockUser(sql, userUuid);
    const known = await findModel(sql, userUuid, name);
    const [same] = await sql`
      select from models where user_uuid = ${userUuid} and name = ${name} and digest = ${digest}
        and card = ${sql.json(card)}::jsonb`;
    if (known !== null && same !== undefined) return { row: known, isNew: false };
    if (known !== null)
      throw new ServiceError("model_name_taken", {
        detail: `You have another model "${name}"; delete it first (DELETE /models/${name}), or name this one differently in its card.`,
      });
    const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
      select count(*) as count from models where user_uuid = ${userUuid}`;
    if (count >= limit)
      throw new ServiceError("models_limit_reached", {
        detail: `model limit reached for this key (${limit}); delete one (DELETE /models/{name}) and try again`,
      });
    await sql`
      insert into models ${sql({ ...model, card: sql.json(card), labels: sql.json([...labels]) })}`;
    let part = 0;
    for await (const bytes of inParts(file)) {
      await sql`insert into model_parts (model_uuid, part, bytes) values (${uuid}, ${part}, ${bytes})`;
      part += 1;
    }
    const row = await findModel(sql, userUuid, name);
    if (row === null) throw new Error("the database returned no row for an insert");
    return { row, isNew: true };
  });
}

async function* inParts(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of file) {
    waiting.push(chunk);
    bytes += chunk.length;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

/** The file of a model, part by part. */
export async function* readModelFile(sql: Queries, uuid: string): AsyncGenerator<Buffer> {
  for (let part = 0; ; part++) {
    const row = await firstOf(sql<{ bytes: Buffer }[]>`
      select bytes from model_parts where model_uuid = ${uuid} and part = ${part}`);
    if (row === null) return;
    yield row.bytes;
  }
}

/** Resolves with its uuid; null: there is none. Rejects with `model_in_use` while a process runs it. */
export async function deleteModel(sql: Sql, userUuid: string, name: string): Promise<string | null> {
  return sql.begin(async (sql) => {
    // A process is stored under the same lock.
    await lockUser(sql, userUuid);
    const [running] = await sql<{ uuid: string }[]>`
      select uuid from processes
      where user_uuid = ${userUuid} and models @> ${sql.json([name])}::jsonb and state not in ('finished', 'failed')
      order by created_at limit 1`;
    if (running !== undefined)
      throw new ServiceError("model_in_use", {
        detail: `the process ${running.uuid} runs the model "${name}"; stop it (DELETE /process/${running.uuid}) and try again`,
      });
    const row = await firstOf(sql<{ uuid: string }[]>`
      delete from models where user_uuid = ${userUuid} and name = ${name} returning uuid`);
    return row?.uuid ?? null;
  });
}
