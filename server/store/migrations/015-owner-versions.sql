-- A number per user that grows with every change of what the user's listings show, in the transaction of that change:
-- while it is the same, so is a listing. No row: 0. Today it covers `GET /sources`: the sources, and whether a process that
-- has not ended uses one. A further listing needs triggers on its tables.
create table owner_versions (
  user_uuid uuid primary key references users on delete cascade,
  version bigint not null
) with (fillfactor = 50);

create function raise_owner_version() returns trigger language plpgsql as $$
begin
  -- A user that is being deleted gets no version.
  insert into owner_versions (user_uuid, version)
  select uuid, 1 from users where uuid = coalesce(new.user_uuid, old.user_uuid)
  on conflict (user_uuid) do update set version = owner_versions.version + 1;
  return null;
end $$;

-- Not deferred: a later migration could not alter a table with triggers that wait for the commit.
create trigger sources_version after insert or update or delete on sources
  for each row execute function raise_owner_version();
create trigger processes_version after insert or delete on processes
  for each row execute function raise_owner_version();
create trigger process_ends_version after update on processes for each row
  when ((old.state in ('finished', 'failed')) <> (new.state in ('finished', 'failed')))
  execute function raise_owner_version();
