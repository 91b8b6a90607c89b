-- additive
-- Subscriptions of keys that are limited to several sources: null for all others. Servers of the version before know only
-- `source_uuid`, which is one of these sources then: they may send fewer events, and never those of another source.
alter table event_subscriptions add column source_uuids jsonb;
