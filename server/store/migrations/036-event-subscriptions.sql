-- additive
-- Receivers of the events of a user. What has been queued for them is written with the deliveries.
create table event_subscriptions (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  -- As the outputs of an alert: with their destinations and secrets.
  output varchar not null,
  -- Empty: all.
  types jsonb not null default '[]',
  source_uuid uuid,
  -- The number of the last event that was queued, or need not be.
  sent_seq bigint not null,
  created_at timestamptz(3) not null default now()
) with (fillfactor = 70);
create index event_subscriptions_by_time on event_subscriptions (user_uuid, created_at desc, uuid desc);
