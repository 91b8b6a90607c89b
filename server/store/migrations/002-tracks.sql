-- What was seen by processes whose key had the track logger when they started. Gone with their process: both tables refer
-- to it, and points not to their track, so that a process with 100,000 tracks goes in two sweeps and not in 100,000.
create table tracks (
  process_uuid uuid not null references processes on delete cascade,
  track_id bigint not null check (track_id > 0),
  class_id integer not null,
  class_name text not null,
  first_seen timestamptz(3) not null,
  last_seen timestamptz(3) not null,
  -- How often it was detected, and how surely: from 0 to 1.
  sightings integer not null,
  best_confidence double precision not null,
  mean_confidence double precision not null,
  least_confidence double precision not null,
  -- The last box: left, top, width and height in pixels of the input.
  box jsonb not null,
  -- As far as its process runs.
  is_live boolean not null,
  primary key (process_uuid, track_id)
);
-- What is to be ended when a runner is gone.
create index tracks_live on tracks (process_uuid) where is_live;

-- Its path, thinned. The numbers of those that were lost on their way are missing.
create table track_points (
  process_uuid uuid not null references processes on delete cascade,
  track_id bigint not null,
  index integer not null check (index >= 0),
  seen_at timestamptz(3) not null,
  confidence double precision not null,
  box_left double precision not null,
  box_top double precision not null,
  box_width double precision not null,
  box_height double precision not null,
  -- Null: nobody knows where.
  latitude double precision,
  longitude double precision,
  -- Metres above mean sea level; one standard deviation across the ground; metres a second; degrees from true north.
  altitude double precision,
  error_m double precision,
  speed_mps double precision,
  heading double precision,
  primary key (process_uuid, track_id, index)
);
