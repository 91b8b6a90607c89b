-- What was told of a subscription, written with the parcel that tells it: nothing is told twice and nothing forgotten,
-- whoever gathers for it next.
alter table subscriptions
  -- The last parcel, and how many tracks are in it.
  add column parcel_id text,
  add column parcel_count integer not null default 0,
  -- Of target-count: what was told last.
  add column told_count integer not null default 0,
  -- The next notification comes no sooner.
  add column next_at timestamptz(3);
create index on subscriptions (user_uuid);
