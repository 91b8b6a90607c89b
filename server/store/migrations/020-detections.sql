-- additive
-- Stored detections of processes are files of another kind.
alter table files drop constraint files_kind_check;
alter table files add constraint files_kind_check
  check (kind in ('video', 'recording', 'process-recording', 'detections'));
alter table files
  -- Capture times of its first and last message; null: unknown, or of another kind.
  add column first_at timestamptz(3),
  add column last_at timestamptz(3);
create trigger processes_detections after delete on processes
  for each row execute function remove_stored_files('detections');
