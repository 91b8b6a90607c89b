-- Objects on maps: Cursor on Target events.
alter table outputs drop constraint outputs_type_check;
alter table outputs add constraint outputs_type_check
  check (type in ('rtsp', 'rtmp', 'detection_data', 'drone_data', 'cot'));
