-- additive
-- What has happened to streams, processes, recordings and evidence of a user. An event is stored in the transaction of the
-- change itself: by triggers where the change is one of a row. Its number among the events of its user is given afterwards,
-- when it is committed: the order of numbers is that of commits, and whoever has read up to a number has missed none. No
-- change of a row waits for a number.
create table events (
  id bigint generated always as identity primary key,
  -- The same in every copy that is sent.
  uuid uuid not null default gen_random_uuid(),
  user_uuid uuid not null references users on delete cascade,
  -- Null: not numbered yet, and not shown.
  seq bigint,
  type text not null,
  happened_at timestamptz(3) not null default clock_timestamp(),
  source_uuid uuid,
  process_uuid uuid,
  data jsonb not null default '{}',
  -- Of an event that could be found more than once: it is stored once.
  key text
);
create unique index events_by_number on events (user_uuid, seq);
create unique index events_by_key on events (user_uuid, key) where key is not null;
create index events_unnumbered on events (id) where seq is null;
create index events_of_process on events (user_uuid, process_uuid, seq) where process_uuid is not null;
create index events_of_source on events (user_uuid, source_uuid, seq) where source_uuid is not null;
create index events_by_age on events (happened_at);

-- The last number that was given. It stays when events are removed.
create table event_counters (
  user_uuid uuid primary key references users on delete cascade,
  last_seq bigint not null
) with (fillfactor = 50);

-- Streams that are published to sources now. A row without a live node is that of a node that was killed.
create table publications (
  source_uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  node_uuid uuid not null,
  path text not null,
  protocol text not null,
  codec text not null,
  width integer not null,
  height integer not null,
  has_audio boolean not null,
  began_at timestamptz(3) not null
) with (fillfactor = 50);
create index publications_by_path on publications (path);

-- Why the last publisher of a source was rejected.
create table publish_rejections (
  source_uuid uuid primary key references sources on delete cascade,
  protocol text not null,
  reason text not null,
  rejected_at timestamptz(3) not null
) with (fillfactor = 50);

alter table processes
  -- Its live source is lost, and its runner reconnects.
  add column reconnecting boolean not null default false,
  -- The claim under which frames have flowed last.
  add column run_fence bigint,
  -- It waits for its source: {"seconds": number or null, "keep": boolean}. Null: it does not.
  add column wait jsonb,
  -- Of a process that waits now: when it gives up. Null: never.
  add column waits_until timestamptz(3),
  drop constraint processes_state_check,
  add constraint processes_state_check
    check (state in ('starting', 'waiting', 'running', 'paused', 'stopping', 'finished', 'failed'));

-- What a video file contains: {"codec", "width", "height", "fps"}. Null: not known, or not a file.
alter table sources add column video jsonb;

create function add_event(of_user uuid, of_type text, of_source uuid, of_process uuid, with_data jsonb)
returns void language sql as $$
  -- A user that is being deleted gets none.
  insert into events (user_uuid, type, source_uuid, process_uuid, data)
  select uuid, of_type, of_source, of_process, jsonb_strip_nulls(with_data) from users where uuid = of_user
$$;

create function note_process_change() returns trigger language plpgsql as $$
declare
  error jsonb := case when new.error_code is not null
    then jsonb_build_object('code', new.error_code, 'detail', coalesce(new.error_detail, '')) end;
  facts jsonb := jsonb_build_object('graph', new.graph);
begin
  if old.started_at is null and new.started_at is not null and new.state <> 'waiting'
    or old.state = 'waiting' and new.state in ('starting', 'running', 'paused') then
    perform add_event(new.user_uuid, 'process-started', new.source_uuid, new.uuid, facts);
  elsif old.run_fence is not null and new.run_fence > old.run_fence then
    perform add_event(new.user_uuid, 'process-restarted', new.source_uuid, new.uuid,
      facts || jsonb_build_object('reason', 'the server that ran it has ended', 'restarts', new.restarts));
  end if;
  if new.restarts > old.restarts then
    perform add_event(new.user_uuid, 'process-restarted', new.source_uuid, new.uuid,
      facts || jsonb_build_object('reason', new.last_error ->> 'detail', 'restarts', new.restarts));
  end if;
  if new.reconnecting and not old.reconnecting then
    perform add_event(new.user_uuid, 'process-reconnecting', new.source_uuid, new.uuid, facts);
  elsif old.reconnecting and not new.reconnecting and new.state in ('starting', 'running', 'paused') then
    perform add_event(new.user_uuid, 'process-reconnected', new.source_uuid, new.uuid, facts);
  end if;
  if new.state = 'waiting' and old.state <> 'waiting' then
    perform add_event(new.user_uuid, 'process-waiting', new.source_uuid, new.uuid, facts);
  elsif new.state in ('finished', 'failed') and old.state not in ('finished', 'failed') then
    perform add_event(new.user_uuid, 'process-' || new.state, new.source_uuid, new.uuid,
      facts || jsonb_build_object('error', error, 'restarts', new.restarts));
  end if;
  return null;
end $$;
create trigger processes_events after update on processes for each row
  when ((old.state, old.restarts, old.reconnecting, old.run_fence, old.started_at)
    is distinct from (new.state, new.restarts, new.reconnecting, new.run_fence, new.started_at))
  execute function note_process_change();

-- Whether a source is being processed depends on whether its process waits.
create trigger process_waits_version after update on processes for each row
  when ((old.state = 'waiting') <> (new.state = 'waiting'))
  execute function raise_owner_version();

-- A start that was rolled back after it had begun.
create function note_process_removal() returns trigger language plpgsql as $$
begin
  perform add_event(old.user_uuid, 'process-failed', old.source_uuid, old.uuid, jsonb_build_object('graph', old.graph,
    'error', jsonb_build_object('code', 'pipeline_failed', 'detail', 'its start could not be completed')));
  return null;
end $$;
create trigger processes_removal after delete on processes for each row
  when (old.started_at is not null and old.state not in ('finished', 'failed'))
  execute function note_process_removal();

create function note_recording_end() returns trigger language plpgsql as $$
begin
  -- One without files is removed in the same transaction.
  if not exists (select from recording_segments where recording_uuid = new.uuid) then return null; end if;
  perform add_event(new.user_uuid, 'recording-closed', new.source_uuid, null, jsonb_build_object(
    'recording_uuid', new.uuid,
    'duration_seconds', round(extract(epoch from new.stopped_at - new.started_at)::numeric, 3),
    'reason', new.detail));
  return null;
end $$;
create trigger recordings_events after update on recordings for each row
  when (old.stopped_at is null and new.stopped_at is not null and not new.is_ring)
  execute function note_recording_end();
-- A recording that is over when it is stored, such as one that was found after a crash.
create trigger recordings_found_events after insert on recordings for each row
  when (new.stopped_at is not null and not new.is_ring)
  execute function note_recording_end();

create function note_evidence() returns trigger language plpgsql as $$
begin
  perform add_event(new.user_uuid, 'evidence-ready', new.source_uuid, new.process_uuid,
    jsonb_build_object('notice_uuid', new.notice_uuid, 'evidence', new.state));
  return null;
end $$;
create trigger evidence_events after update on evidence for each row
  when (old.state = 'pending' and new.state in ('ready', 'partial'))
  execute function note_evidence();
