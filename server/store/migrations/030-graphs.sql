-- additive
-- Graphs that keys store, in versions that never change.
create table graphs (
  user_uuid uuid not null references users on delete cascade,
  name text not null,
  -- The version that was stored last, be it new or not.
  current_version integer not null,
  last_version integer not null,
  primary key (user_uuid, name)
);

create table graph_versions (
  uuid uuid primary key,
  user_uuid uuid not null,
  name text not null,
  version integer not null,
  -- SHA-256 of the text, in hexadecimal.
  digest text not null,
  yaml text not null,
  -- As listed: description, schema of the parameters, slots.
  summary jsonb not null,
  -- Name of the key that stored it.
  author text not null,
  created_at timestamptz(3) not null default now(),
  unique (user_uuid, name, version),
  unique (user_uuid, name, digest),
  foreign key (user_uuid, name) references graphs on delete cascade
);
create index graph_versions_by_time on graph_versions (user_uuid, name, created_at desc, uuid desc);

-- Of a process whose graph is a stored one; its text is in graph_text.
alter table processes add column graph_version integer;
