-- additive
-- Events of jobs that clients would otherwise poll: clips, enhancements of reports, and evidence that could not be made.
create function note_clip() returns trigger language plpgsql as $$
begin
  perform add_event(new.user_uuid, 'clip-' || new.state, new.source_uuid, new.process_uuid, jsonb_build_object(
    'clip_uuid', new.uuid,
    'error', case when new.state = 'failed'
      then jsonb_build_object('code', 'clip_failed', 'detail', coalesce(new.error, '')) end));
  return null;
end $$;
create trigger clips_events after update on clips for each row
  when (old.state <> new.state and new.state in ('ready', 'failed'))
  execute function note_clip();

create function note_enhancement() returns trigger language plpgsql as $$
begin
  perform add_event(user_uuid, 'enhancement-' || lower(new.status), source_uuid, uuid, jsonb_build_object(
    'error', case when new.status = 'FAILED'
      then jsonb_build_object('code', 'enhancement_failed', 'detail', coalesce(new.fault, '')) end))
  from processes where uuid = new.process_uuid;
  return null;
end $$;
create trigger enhancements_events after update on enhancements for each row
  when (old.status = 'RUNNING' and new.status in ('FINISHED', 'FAILED'))
  execute function note_enhancement();

create function note_failed_evidence() returns trigger language plpgsql as $$
begin
  perform add_event(new.user_uuid, 'evidence-failed', new.source_uuid, new.process_uuid,
    jsonb_build_object('notice_uuid', new.notice_uuid));
  return null;
end $$;
create trigger evidence_failures after update on evidence for each row
  when (old.state = 'pending' and new.state = 'failed')
  execute function note_failed_evidence();
