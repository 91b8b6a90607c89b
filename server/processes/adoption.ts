/** What becomes of a process that another server left behind. */
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { listAttached, listBranches } from "../store/outputs.ts";
import { deleteProcess, type ProcessRow, saveSnapshot } from "../store/processes.ts";
import { findHasRecording } from "../store/users.ts";
import type { ProcessInput, ProcessOffers, ProcessParts } from "./process-parts.ts";
import type { ProcessError } from "./processes.ts";

export interface AdoptionNeeds {
  readonly sql: Sql;
  resolveInput(userUuid: string, sourceUuid: string, how: ResolveOptions): Promise<ProcessInput>;
  prepare(order: PrepareOrder): Promise<ProcessOffers>;
}

export interface ResolveOptions {
  /** It has run before: where it is now is found out by `locate`, when its turn has come. */
  readonly isResumed: boolean;
}

export interface PrepareOrder extends Pick<ProcessRow, "graph" | "graphText" | "params"> {
  readonly sourceUri: string;
  readonly userUuid?: string;
  readonly signal?: AbortSignal;
  /** Of the params, those that a client gives now; the others have been judged before. Default: all. */
  readonly given?: JsonRecord;
  /** A slot that is to be attached, with what a client gives for it. */
  readonly attach?: { readonly slot: string; readonly params: JsonRecord };
}

/**
 * Resolves with what it takes to run it again; null when it need not run: a start that was never answered leaves
 * nothing, what should have stopped has finished, and what cannot run has failed. Rejects while the database is away.
 */
export async function adopt(row: ProcessRow, needs: AdoptionNeeds): Promise<ProcessParts | null> {
  const { sql } = needs;
  if (row.startedAt === null) {
    await deleteProcess(sql, row.uuid, row.fence);
    return null;
  }
  const isOver = row.endsAt !== null && row.endsAt.getTime() <= Date.now();
  if (row.desired === "stopped" || isOver) {
    const { errorCode: code, errorDetail: detail } = row;
    await end(row, "finished", code === null ? null : { code, detail: detail ?? "" }, sql);
    return null;
  }
  try {
    const input = await needs.resolveInput(row.userUuid, row.sourceUuid, { isResumed: true });
    const { offers, slots, alertNode = null } = await needs.prepare({ ...row, sourceUri: input.uri, given: {} });
    const hasRecording = await findHasRecording(sql, row.userUuid);
    const outputs = await listAttached(sql, row.uuid);
    const branches = await listBranches(sql, row.uuid);
    return { row, input, offers, slots, alertNode, outputs, branches, hasRecording };
  } catch (error) {
    if (!(error instanceof ServiceError) || PASSING.has(error.code)) throw error;
    await end(row, "failed", { code: error.code, detail: error.message }, sql);
    return null;
  }
}

/** Worth waiting for. */
const PASSING = new Set(["database_unavailable", "rate_limited", "shutting_down", "internal_error"]);

async function end(row: ProcessRow, state: "finished" | "failed", error: ProcessError | null, sql: Sql): Promise<void> {
  await saveSnapshot(sql, row, {
    ...row,
    desired: "stopped",
    state,
    errorCode: error?.code ?? null,
    errorDetail: error?.detail ?? null,
    finishedAt: new Date(),
  });
}
