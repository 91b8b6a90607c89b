-- additive
-- Clips that are rendered on request, claimed as enhancements are: by lease and fence. They outlive their source and process.
create table clips (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  source_uuid uuid not null,
  -- Of the source when it was asked for.
  alias text not null,
  -- Whose detections are drawn; null: none are.
  process_uuid uuid,
  -- Times in milliseconds: from the start of the video of a file, else since 1970.
  is_file boolean not null,
  from_ms double precision not null,
  to_ms double precision not null,
  -- Unix time of the start of the video in those detections; 0 for streams.
  base_ms double precision not null default 0,
  state text not null default 'queued' check (state in ('queued', 'rendering', 'ready', 'failed')),
  progress real not null default 0,
  error text,
  -- Renderers that died over it.
  crashes integer not null default 0,
  size_bytes bigint,
  -- Who renders it, or has its file.
  node_uuid uuid,
  -- Only this node has the recordings it needs.
  wanted_node uuid,
  lease_until timestamptz(3),
  fence bigint not null default 0,
  created_at timestamptz(3) not null default now(),
  ended_at timestamptz(3)
);
create index clips_by_time on clips (user_uuid, created_at desc, uuid desc);
create index clips_active on clips (created_at) where state in ('queued', 'rendering');
create index clips_by_age on clips (ended_at) where state in ('ready', 'failed');

alter table files drop constraint files_kind_check;
alter table files add constraint files_kind_check
  check (kind in ('video', 'recording', 'process-recording', 'detections', 'clip'));
create trigger clips_files after delete on clips
  for each row execute function remove_stored_files('clip');
