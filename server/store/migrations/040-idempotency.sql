-- additive
-- Requests with an idempotency key, and their answers, for a day. Answers may contain secrets: they are sealed.
create table idempotency_keys (
  user_uuid uuid not null references users on delete cascade,
  key text not null,
  -- SHA-256 of the request.
  digest bytea not null,
  -- Of the answer; null: it is in progress, while `lease_until` lasts.
  status integer,
  headers jsonb,
  body varchar,
  lease_until timestamptz(3) not null,
  -- Increases with every request that begins to execute it.
  fence bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  primary key (user_uuid, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
