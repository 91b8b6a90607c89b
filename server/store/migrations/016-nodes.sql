-- breaking: servers of earlier versions do not renew the lease of their node, and would lose their processes to others.
-- Several machines on one database. A node owns what it claimed until `lease_until`, by the clock of the database; it
-- renews that time, and others take over afterwards. One lease a node: `processes.lease_until` is no longer used.
alter table nodes
  add column lease_until timestamptz(3) not null default now(),
  add column version text not null default '',
  -- Where the other nodes reach its API and its RTSP server. Null: it is not listening yet.
  add column url text,
  add column rtsp_url text,
  -- Names by which clients reach it in URLs of streams.
  add column hosts jsonb not null default '[]',
  add column labels jsonb not null default '{}',
  -- What it offers to processes. Null: not limited.
  add column cores real,
  add column memory_bytes bigint,
  add column max_processes integer,
  -- What it uses, as measured.
  add column load jsonb not null default '{}',
  -- The graphs that it has, with digests of their texts.
  add column graphs jsonb not null default '{}',
  -- It takes no more processes and hands its own over, until then at the latest.
  add column drains_until timestamptz(3);

alter table processes
  -- What is reserved for it on its node.
  add column cores real not null default 0,
  add column memory_bytes bigint not null default 0,
  -- What it has used (95 % quantile), for later starts of the same.
  add column used_cores real,
  add column used_bytes bigint,
  -- It runs only on nodes with these labels.
  add column labels jsonb not null default '{}',
  -- Nodes that cannot run it: they lack its file or its graph.
  add column declined_by jsonb not null default '[]',
  -- Since when no node has had room for it.
  add column waiting_since timestamptz(3);
create index processes_of_node on processes (node_uuid) where state not in ('finished', 'failed');
create index processes_used on processes (graph, finished_at desc) where used_cores is not null;

-- Numbers of running processes, for listings of the other nodes.
create table process_views (
  process_uuid uuid primary key references processes on delete cascade,
  fence bigint not null,
  view jsonb not null,
  updated_at timestamptz(3) not null default now()
) with (fillfactor = 50);
