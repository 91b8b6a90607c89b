-- additive
-- Installed graphs that a version extends or uses parts of, as {"NAME": digest} when it was stored; null: not recorded.
alter table graph_versions add column bases jsonb;
