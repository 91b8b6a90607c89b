-- additive
alter table sources
  -- When a video was recorded, as its container states.
  add column recorded_at timestamptz(3),
  -- PTS of the first frame of a video, in milliseconds.
  add column start_ms double precision not null default 0,
  -- The UDP port that its telemetry is sent to. Sources of different users have different ports.
  add column telemetry_port integer check (telemetry_port between 1 and 65535);
create index sources_telemetry_port on sources (telemetry_port) where telemetry_port is not null;

-- The recorded telemetry of a video: uploaded, or found in it.
create table source_telemetry (
  source_uuid uuid primary key references sources on delete cascade,
  format text not null,
  -- Null: it was found in the video.
  file_name text,
  samples integer not null check (samples > 0),
  -- By the clock of the telemetry, in milliseconds.
  first_ms double precision not null,
  last_ms double precision not null,
  -- To be added to get the time in the video; with its standard deviation, and how it was found.
  offset_ms double precision not null,
  offset_error_ms double precision not null,
  offset_method text not null,
  lack text,
  -- The samples as doubles, compressed.
  content bytea not null,
  created_at timestamptz(3) not null default now()
);

-- Video with telemetry and objects as KLV. The types of all migrations before, and this one.
alter table outputs drop constraint outputs_type_check;
alter table outputs add constraint outputs_type_check
  check (type in ('rtsp', 'rtmp', 'detection_data', 'drone_data', 'cot', 'mqtt', 'srt', 'mpegts'));
