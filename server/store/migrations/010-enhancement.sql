-- What was found out about tracks after their process had finished. `enhanced_data` is as the report shows it: null where
-- nobody has looked yet.
alter table tracks add column enhanced_data jsonb;

-- The work on it, one of a process, claimed as processes are: by lease and fence. Gone with its report.
create table enhancements (
  process_uuid uuid primary key references processes on delete cascade,
  status text not null check (status in ('RUNNING', 'FINISHED', 'FAILED')),
  -- Why it failed.
  fault text,
  -- Tracks there were at its start, tracks done, and the id of the last one that is done: it goes on above.
  total integer not null check (total >= 0),
  done integer not null default 0 check (done >= 0),
  last_track_id bigint not null default 0,
  -- Children that died over it since the last track that was done.
  crashes integer not null default 0,
  started_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  node_uuid uuid,
  lease_until timestamptz(3),
  fence bigint not null default 1
);
create index enhancements_running on enhancements (started_at) where status = 'RUNNING';
