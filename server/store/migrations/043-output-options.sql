-- additive
-- Processed video without drawings, and with a bit rate of its own.
alter table outputs
  add column boxes boolean not null default true,
  -- Kilobits per second; null: that of the resolution.
  add column bitrate integer check (bitrate between 50 and 100000);
