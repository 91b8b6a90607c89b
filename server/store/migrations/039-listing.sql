-- additive
-- Pages of listings, by their filters and orders. Each begins with the user: a listing reads no row of another user.
create index sources_by_alias on sources (user_uuid, alias, uuid);
create index outputs_by_alias on outputs (user_uuid, alias, uuid);
create index alerts_by_alias on alerts (user_uuid, alias, uuid);
create index recordings_by_alias on recordings (user_uuid, alias, uuid) where not is_ring;
create index processes_by_state on processes (user_uuid, state, created_at desc, uuid desc);
create index processes_by_graph on processes (user_uuid, graph, created_at desc, uuid desc);
-- Those that have not ended come after all others.
create index processes_by_end on processes (user_uuid, coalesce(finished_at, 'infinity') desc, uuid desc);
create index clips_of_source on clips (user_uuid, source_uuid, created_at desc, uuid desc);
create index clips_by_state on clips (user_uuid, state, created_at desc, uuid desc);
create index evidence_by_state on evidence (user_uuid, state, happened_at desc, notice_uuid desc);
create index tracks_by_class on tracks (process_uuid, class_name, track_id);
