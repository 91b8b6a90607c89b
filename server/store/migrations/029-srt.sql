-- additive
-- Streams over SRT, and MPEG-TS over UDP. Servers of the version before do not start processes on them.
alter table sources drop constraint sources_stream_type_check;
alter table sources add constraint sources_stream_type_check check (stream_type in ('rtsp', 'rtmp', 'srt', 'udp'));

alter table outputs drop constraint outputs_type_check;
alter table outputs add constraint outputs_type_check
  check (type in ('rtsp', 'rtmp', 'srt', 'detection_data', 'drone_data', 'cot', 'mqtt', 'mpegts'));
