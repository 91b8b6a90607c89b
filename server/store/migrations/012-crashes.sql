-- Why the last runner of a process crashed: {at, node, detail, trace}; null while none has.
alter table processes add column last_error jsonb;
-- Frames of a file that no run has processed; null of a live source.
alter table processes add column frames_lost bigint check (frames_lost >= 0);
