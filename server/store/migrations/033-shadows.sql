-- additive
-- Until when a shadow of the process is counted as another process of its user; null: it has none.
alter table processes add column shadow_until timestamptz(3);
