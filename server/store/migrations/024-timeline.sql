-- additive
-- What happened on a source in a time range is found by its time. Tracks are short, so that those of a range began shortly
-- before it; the few long ones have an index of their own.
create index tracks_by_time on tracks (process_uuid, first_seen);
create index tracks_long on tracks (process_uuid, last_seen) where last_seen - first_seen > interval '1 hour';
-- How few they are: otherwise the planner does not use it.
create statistics tracks_length on (last_seen - first_seen) from tracks;
create index processes_of_source on processes (user_uuid, source_uuid, created_at desc);
create index recordings_of_source on recordings (user_uuid, source_uuid, started_at desc);
create index recording_segments_by_time on recording_segments (recording_uuid, started_at);
-- Apart from the body, which contains pictures and is slow to read.
alter table notices
  add column alias text generated always as (body ->> 'alias') stored,
  add column event text generated always as (body ->> 'event') stored;
