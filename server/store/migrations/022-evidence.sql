-- additive
-- How a source is recorded. Without a row: always, without pre-roll.
create table source_recordings (
  source_uuid uuid primary key references sources on delete cascade,
  mode text not null check (mode in ('always', 'on_alert', 'off')),
  pre_roll_seconds integer not null default 0 check (pre_roll_seconds between 0 and 60),
  -- Of `on_alert`: when the recording because of the last notice ends.
  wanted_until timestamptz(3)
);

-- Which processes of keys with process recording are recorded. Without a row: always.
create table process_recording_modes (
  process_uuid uuid primary key references processes on delete cascade,
  mode text not null check (mode in ('always', 'on_alert', 'off')),
  wanted_until timestamptz(3)
);

-- The last seconds of a stream that is not recorded. Not listed, and not moved to a bucket.
alter table recordings add column is_ring boolean not null default false;
create index recordings_rings on recordings (node_uuid) where is_ring;

-- Clip and snapshot of a notice. A row without its notice is removed by the node that has its clip, with the file.
create table evidence (
  notice_uuid uuid primary key,
  user_uuid uuid not null,
  source_uuid uuid not null,
  process_uuid uuid not null,
  happened_at timestamptz(3) not null,
  -- In the video, if the source is a file.
  position_ms bigint,
  -- Null: no clip was requested.
  before_ms integer,
  after_ms integer,
  has_boxes boolean not null default false,
  has_snapshot boolean not null default false,
  state text not null check (state in ('pending', 'ready', 'partial', 'failed', 'skipped')),
  -- What is missing: [{"part", "reason", "from", "to"}].
  missing jsonb not null default '[]',
  clip_from timestamptz(3),
  clip_to timestamptz(3),
  clip_bytes bigint not null default 0,
  snapshot_bytes bigint not null default 0,
  -- The destinations of the notice.
  destinations jsonb not null default '[]',
  created_at timestamptz(3) not null default now(),
  due_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  -- The node that has the files: of the video until the clip is cut, then of the clip. Null: any.
  node_uuid uuid,
  -- That node was found by looking for the files: those of others are left out.
  is_placed boolean not null default false,
  lease_until timestamptz(3),
  fence bigint not null default 0,
  -- Its notice was deleted.
  is_orphan boolean not null default false
);
create index evidence_due on evidence (due_at) where state = 'pending';
create index evidence_of_user on evidence (user_uuid) include (state, clip_bytes, snapshot_bytes);
create index evidence_orphans on evidence (notice_uuid) where is_orphan;
create index evidence_pending on evidence (source_uuid) where state = 'pending';
create index evidence_of_process on evidence (process_uuid) where state = 'pending';

create function orphan_evidence() returns trigger language plpgsql as $$
begin
  update evidence set is_orphan = true from gone where notice_uuid = gone.uuid;
  return null;
end $$;
create trigger notices_evidence after delete on notices referencing old table as gone
  for each statement execute function orphan_evidence();

create table evidence_snapshots (
  notice_uuid uuid primary key references notices on delete cascade,
  jpeg bytea not null
);

-- The kinds of all migrations before, and this one.
alter table files drop constraint files_kind_check;
alter table files add constraint files_kind_check
  check (kind in ('video', 'recording', 'process-recording', 'detections', 'clip', 'evidence'));
