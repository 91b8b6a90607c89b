-- What is on its way to receivers. A parcel is there once the transaction that made it is committed, and goes when its
-- receiver has it.

-- One output of an alert, or one subscription.
create table destinations (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  kind text not null check (kind in ('mqtt', 'webhook')),
  -- Where to, and with which secrets.
  target jsonb not null,
  -- Takes nothing more, and goes with the last that waits.
  is_closed boolean not null default false,
  -- Its receiver wants nothing more, ever: what comes is not kept.
  is_stopped boolean not null default false,
  -- Given out under a lock that lasts until the end of the transaction: the order of numbers is that of commits.
  next_seq bigint not null default 1,
  -- Up to here the oldest were removed because too many waited.
  trimmed_seq bigint not null default 0,
  delivered bigint not null default 0,
  dropped bigint not null default 0,
  -- Attempts that failed since the last that did not.
  failures integer not null default 0,
  last_attempt_at timestamptz(3),
  last_delivered_at timestamptz(3),
  last_error text,
  -- When to look at it next; null when nothing waits. While attempts fail: when to try again.
  wake_at timestamptz(3),
  -- Who delivers just now; free again after the time.
  node_uuid uuid,
  lease_until timestamptz(3)
) with (fillfactor = 70);
create index on destinations (user_uuid);
create index on destinations (wake_at) where wake_at is not null;
create index on destinations (node_uuid) where node_uuid is not null;

create table parcels (
  destination_uuid uuid not null references destinations on delete cascade,
  seq bigint not null,
  id text not null,
  -- Text and not jsonb: every copy that is sent has the same bytes.
  body text not null,
  due_at timestamptz(3) not null,
  -- May be amended still. Whoever delivers it closes it first.
  is_open boolean not null,
  attempts integer not null default 0,
  first_attempt_at timestamptz(3),
  primary key (destination_uuid, seq),
  unique (destination_uuid, id)
);
-- Nearly all of it comes and goes: what is left behind is cleared away early.
alter table parcels set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
