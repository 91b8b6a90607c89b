-- The best picture of each track. Gone with its track, its report and its process.
create table track_patches (
  process_uuid uuid not null references processes on delete cascade,
  track_id bigint not null,
  seen_at timestamptz(3) not null,
  -- Of that sighting, from 0 to 1.
  confidence double precision not null,
  jpeg bytea not null,
  primary key (process_uuid, track_id)
);
-- A JPEG cannot be made smaller: not even tried.
alter table track_patches alter column jpeg set storage external;

-- Where it was first and last known to be: latitude, longitude, altitude, timeMs.
alter table tracks add column first_spot jsonb;
alter table tracks add column last_spot jsonb;
update tracks set
  first_spot = (
    select jsonb_build_object('latitude', latitude, 'longitude', longitude, 'altitude', altitude,
      'timeMs', round(extract(epoch from seen_at) * 1000))
    from track_points where (process_uuid, track_id) = (tracks.process_uuid, tracks.track_id) and latitude is not null
    order by index limit 1),
  last_spot = (
    select jsonb_build_object('latitude', latitude, 'longitude', longitude, 'altitude', altitude,
      'timeMs', round(extract(epoch from seen_at) * 1000))
    from track_points where (process_uuid, track_id) = (tracks.process_uuid, tracks.track_id) and latitude is not null
    order by index desc limit 1);

-- What the report says of a track that has ended, but for its picture: JSON without its last brace. Written once, when it
-- has ended, for putting millions of points together takes far longer than reading what was put together. Null: not yet.
alter table tracks add column report text;
create index tracks_unreported on tracks (process_uuid, track_id) where not is_live and report is null;

-- Of processes that had ended: there is no report of them any more. Null: nobody has asked for that.
alter table processes add column report_deleted_at timestamptz(3);

-- Never used: what a report is follows from its process and its tracks.
drop table reports;
