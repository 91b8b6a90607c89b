/** What nodes can still take, and what processes are likely to use. */
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import { firstOf, type Queries } from "./client.ts";

/** What a node can still take. `Infinity`: not limited. */
interface Room {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

/** What a process takes of its node. */
export interface Reserved {
  readonly cores: number;
  readonly memoryBytes: number;
}

const NO_ROOM: Room = { cores: 0, memoryBytes: 0, processes: 0 };
const UNLIMITED = { cores: null, memoryBytes: null, processes: null };

/**
 * Locks the node until the end of the transaction, so that starts and claims at the same time do not exceed its capacity
 * together. A node that drains has no room.
 */
export async function lockRoom(sql: Queries, nodeUuid: string): Promise<Room> {
  const [node] = await sql<(Record<keyof Room, number | null> & { isDraining: boolean })[]>`
    select cores, memory_bytes, max_processes as processes, drains_until is not null as is_draining
    from nodes where uuid = ${nodeUuid} for no key update`;
  if (node?.isDraining === true) return NO_ROOM;
  const { cores, memoryBytes, processes } = node ?? UNLIMITED;
  const left = (limit: number | null, used: number): number =>
    limit === null ? Number.POSITIVE_INFINITY : limit - used;
  if (cores === null && memoryBytes === null && processes === null)
    return { cores: left(null, 0), memoryBytes: left(null, 0), processes: left(null, 0) };
  const [used = NO_ROOM] = await sql<Room[]>`
    select coalesce(sum(cores), 0)::double precision as cores, coalesce(sum(memory_bytes), 0)::bigint as memory_bytes,
      count(*) as processes
    from processes where node_uuid = ${nodeUuid} and state not in ('finished', 'failed')`;
  return {
    cores: left(cores, used.cores),
    memoryBytes: left(memoryBytes, used.memoryBytes),
    processes: left(processes, used.processes),
  };
}

/** Cores are stored with single precision. */
const ROUNDING = 1e-3;

export const hasRoomFor = (room: Room, { cores, memoryBytes }: Reserved): boolean =>
  room.processes >= 1 && room.cores + ROUNDING >= cores && room.memoryBytes >= memoryBytes;

export const takeFrom = (room: Room, { cores, memoryBytes }: Reserved): Room => ({
  cores: room.cores - cores,
  memoryBytes: room.memoryBytes - memoryBytes,
  processes: room.processes - 1,
});

export const capacityExhausted = (): ServiceError =>
  new ServiceError("capacity_exhausted", {
    detail: "no node has room for another process; stop one, add a node, or try again later",
    retryAfterSeconds: 10,
  });

interface Run {
  readonly graph: string;
  readonly params: JsonRecord;
  readonly sourceUuid: string;
}

/** Of a process of which nothing is known. */
const USUAL_COST = { cores: 1, memoryBytes: 512 * 2 ** 20 };
/** The last runs that count. */
const COUNTED_RUNS = 20;

/**
 * What a process is likely to use: what earlier runs of the same graph with the same model have used (95 % quantile), on the
 * same source where there were any, as the cost depends on its resolution and frame rate.
 */
export async function estimateCost(sql: Queries, { graph, params, sourceUuid }: Run): Promise<Reserved> {
  const row = await firstOf(sql<{ cores: number | null; memoryBytes: number | null }[]>`
    with runs as (
      select used_cores, used_bytes, source_uuid = ${sourceUuid} as is_same from processes
      where graph = ${graph} and used_cores is not null
        and params -> 'model' is not distinct from ${sql.json(params.model ?? null)}::jsonb
      order by is_same desc, created_at desc limit ${COUNTED_RUNS}),
    counted as (select * from runs where is_same or not exists (select from runs where is_same))
    select percentile_disc(0.95) within group (order by used_cores) as cores,
      percentile_disc(0.95) within group (order by used_bytes) as memory_bytes
    from counted`);
  return { cores: row?.cores ?? USUAL_COST.cores, memoryBytes: row?.memoryBytes ?? USUAL_COST.memoryBytes };
}
