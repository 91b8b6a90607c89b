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

-- Of processes that had ended: there is no report of them any more. Null: nobody has asked for that.
alter table processes add column report_deleted_at timestamptz(3);

-- Never used: what a report is follows from its process and its tracks.
drop table reports;
