/** The machines that share this database, and the signing key of the installation. Times are of the database: clocks of machines differ. */
import { randomBytes } from "node:crypto";
import { type Fragment, type Queries, type Sql, writtenRow } from "./client.ts";

/** What a node measures of itself. */
export interface NodeLoad {
  /** Cores in use, and memory, of its whole machine or container. */
  readonly cores: number;
  readonly memoryBytes: number;
}

/** What a node announces to the others. */
export interface NodeFacts {
  readonly uuid: string;
  readonly version: string;
  /** Where the other nodes reach its API. Null: it is not listening yet. */
  readonly url: string | null;
  /** Where their media hubs reach its RTSP server. */
  readonly rtspUrl: string | null;
  /** Names by which clients reach it in URLs of streams. */
  readonly hosts: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** What it offers to processes. Null: not limited. */
  readonly cores: number | null;
  readonly memoryBytes: number | null;
  readonly maxProcesses: number | null;
  readonly load: NodeLoad | null;
  /** The graphs that it has, with digests of their texts. */
  readonly graphs: Readonly<Record<string, string>>;
}

export interface NodeRow extends NodeFacts {
  readonly startedAt: Date;
  /** The lease has not expired. */
  readonly isLive: boolean;
  readonly drainsUntil: Date | null;
  /** Active processes, and what is reserved for them. */
  readonly processes: number;
  readonly reservedCores: number;
  readonly reservedBytes: number;
}

/** Of what a machine holds in the database: its processes and upload reservations. */
export const NODE_LEASE = {
  /** Without a renewal, other machines take over afterwards. */
  leaseSeconds: 15,
  /** Interval of renewals: less than half of the lease, so that one may fail. */
  renewMs: 4_000,
  /** Interval for claiming jobs that other machines have left, while this one has none. */
  idleMs: 10_000,
};
export type NodeLease = Readonly<typeof NODE_LEASE>;

/** A process of this node that has not ended, with the desired state, which other nodes may have changed. */
export interface OwnedProcess {
  readonly uuid: string;
  readonly fence: number;
  readonly desired: "running" | "paused" | "stopped";
}

export interface Renewal {
  readonly owned: readonly OwnedProcess[];
  /** Active processes without a live node. */
  readonly free: number;
  /** Until the next lease of another node ends; null: there is no other node. */
  readonly nextExpiryMs: number | null;
  readonly drainsUntil: Date | null;
}

/** `where` of processes whose owner is gone. */
export const isUnowned = (sql: Queries): Fragment => sql`
  (processes.node_uuid is null
    or not exists (select from nodes where nodes.uuid = processes.node_uuid and nodes.lease_until > now()))`;

/** Registers the node, or renews its lease; in one statement, as each node does this all the time. */
export async function renewNode(sql: Queries, node: NodeFacts, leaseSeconds: number): Promise<Renewal> {
  const { uuid, hosts, labels, load, graphs, ...facts } = node;
  const row = await writtenRow(sql<Renewal[]>`
    with renewed as (
      insert into nodes (uuid, lease_until, version, url, rtsp_url, hosts, labels, cores, memory_bytes, max_processes,
        load, graphs)
      values (${uuid}, now() + make_interval(secs => ${leaseSeconds}), ${facts.version}, ${facts.url}, ${facts.rtspUrl},
        ${sql.json([...hosts])}, ${sql.json(labels)}, ${facts.cores}, ${facts.memoryBytes}, ${facts.maxProcesses},
        ${sql.json(load === null ? {} : { ...load })}, ${sql.json(graphs)})
      on conflict (uuid) do update set
        lease_until = excluded.lease_until, seen_at = now(), version = excluded.version, url = excluded.url,
        rtsp_url = excluded.rtsp_url, hosts = excluded.hosts, labels = excluded.labels, cores = excluded.cores,
        memory_bytes = excluded.memory_bytes, max_processes = excluded.max_processes, load = excluded.load,
        graphs = excluded.graphs
      returning drains_until)
    select
      (select coalesce(jsonb_agg(jsonb_build_object('uuid', uuid, 'fence', fence, 'desired', desired)), '[]')
       from processes where node_uuid = ${uuid} and state not in ('finished', 'failed')) as owned,
      (select count(*) from processes
       where state not in ('finished', 'failed') and processes.node_uuid is distinct from ${uuid} and ${isUnowned(sql)}) as free,
      (select (extract(epoch from min(lease_until) - now()) * 1000)::double precision from nodes
       where uuid <> ${uuid} and lease_until > now()) as next_expiry_ms,
      (select drains_until from renewed) as drains_until`);
  return row;
}

/** Lost nodes are shown for this long. */
const SHOWN_LOST = "10 minutes";

/** Frees the upload reservations of nodes that are gone, and forgets those that have been for long. */
export async function expireNodes(sql: Queries): Promise<void> {
  await sql`
    with forgotten as (delete from nodes where lease_until < now() - ${SHOWN_LOST}::interval)
    delete from upload_reservations
    where not exists (select from nodes where nodes.uuid = node_uuid and lease_until > now())`;
}

/** Of this node, at its end; or of all others, which have ended. */
export async function removeNodes(sql: Queries, which: Fragment): Promise<void> {
  await sql`
    with gone as (delete from nodes where ${which} returning uuid)
    delete from upload_reservations where node_uuid in (select uuid from gone)`;
}

/** Also those that are lost. */
export const listNodes = (sql: Queries): Promise<readonly NodeRow[]> => sql<NodeRow[]>`
  select nodes.uuid, version, url, rtsp_url, hosts, nodes.labels, nodes.cores, nodes.memory_bytes, max_processes,
    case when load = '{}' then null else load end as load, graphs, nodes.started_at, nodes.lease_until > now() as is_live,
    drains_until, count(processes.uuid) as processes, coalesce(sum(processes.cores), 0)::double precision as reserved_cores,
    coalesce(sum(processes.memory_bytes), 0)::bigint as reserved_bytes
  from nodes left join processes on processes.node_uuid = nodes.uuid and state not in ('finished', 'failed')
  group by nodes.uuid order by nodes.started_at, nodes.uuid`;

/** `seconds` null: it takes processes again. False: there is no such node, or it is lost. */
export async function drainNode(sql: Queries, uuid: string, seconds: number | null): Promise<boolean> {
  const { count } = await sql`
    update nodes set drains_until = now() + make_interval(secs => ${seconds}::double precision)
    where uuid = ${uuid} and lease_until > now()`;
  return count > 0;
}

const SECRET_BYTES = 32;

/** Of this installation: created by the first call. */
export async function readSigningKey(sql: Sql): Promise<Uint8Array> {
  const fresh = sql.typed.sealed(randomBytes(SECRET_BYTES).toString("base64"));
  await sql`insert into signing_keys (secret) values (${fresh}) on conflict do nothing`;
  const { secret } = await writtenRow(sql<{ secret: string }[]>`select secret from signing_keys`);
  return Buffer.from(secret, "base64");
}
