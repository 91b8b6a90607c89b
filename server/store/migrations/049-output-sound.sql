-- additive
-- Processed video with the sound of its source.
alter table outputs add column audio boolean not null default false;
