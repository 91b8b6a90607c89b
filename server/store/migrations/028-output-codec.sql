-- additive
-- Processed video as H.265 on request.
alter table outputs add column codec text not null default 'h264' check (codec in ('h264', 'h265'));
