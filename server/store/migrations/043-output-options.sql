-- additive
-- Processed video without drawings, with a bit rate of its own, and with the sound of its source.
alter table outputs
  add column boxes boolean not null default true,
  -- Kilobits per second; null: that of the resolution.
  add column bitrate integer check (bitrate between 50 and 100000),
  add column audio boolean not null default false;
