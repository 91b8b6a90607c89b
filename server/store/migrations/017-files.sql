-- additive
-- Files in a bucket that all nodes share (`storage.s3`). Empty while files are in the data folder of a node.
create table files (
  -- In the bucket, below its prefix.
  key text primary key,
  kind text not null check (kind in ('video', 'recording', 'process-recording')),
  -- Of the source, the recording or the process; and which of its files.
  owner_uuid uuid not null,
  index integer not null default 0 check (index >= 0),
  user_uuid uuid not null,
  -- Which node has it while it is not in the bucket.
  node_uuid uuid not null,
  size_bytes bigint not null default 0 check (size_bytes >= 0),
  sha256 bytea,
  -- When its content last changed.
  written_at timestamptz(3) not null default now(),
  -- Null: it is not in the bucket yet.
  stored_at timestamptz(3),
  -- To be removed from the bucket, by any node; then the row is, too.
  removed_at timestamptz(3)
);
create unique index files_of_owner on files (kind, owner_uuid, index) where removed_at is null;
create index files_unstored on files (node_uuid) where stored_at is null;
create index files_removed on files (removed_at) where removed_at is not null;
create index files_of_user on files (user_uuid, written_at desc) where stored_at is not null and removed_at is null;

-- Each node asks again and again for what it has not moved to the bucket yet.
alter table recording_segments
  -- When it was moved to the bucket; null: it is on the disk of its node.
  add column stored_at timestamptz(3);
create index recording_segments_unstored on recording_segments (recording_uuid) where stored_at is null;
create index recordings_of_node on recordings (node_uuid);

-- A file is removed with what it belongs to, in the transaction that deletes that.
create function remove_stored_files() returns trigger language plpgsql as $$
begin
  if tg_argv[0] = 'recording' then
    update files set removed_at = now()
    where kind = 'recording' and owner_uuid = old.recording_uuid and index = old.index and removed_at is null;
  else
    update files set removed_at = now() where kind = tg_argv[0] and owner_uuid = old.uuid and removed_at is null;
  end if;
  return null;
end $$;
create trigger sources_files after delete on sources
  for each row execute function remove_stored_files('video');
create trigger recording_segments_files after delete on recording_segments
  for each row execute function remove_stored_files('recording');
create trigger processes_files after delete on processes
  for each row execute function remove_stored_files('process-recording');
