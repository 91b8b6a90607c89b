-- What is too old goes, whether its process runs or not: it is found by its age. Points are written nearly in the order of
-- their times, so a small index of ranges will do.
create index track_points_seen_at on track_points using brin (seen_at) with (pages_per_range = 32);
create index tracks_last_seen on tracks (last_seen);
