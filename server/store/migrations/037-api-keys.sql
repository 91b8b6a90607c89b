-- additive
-- Keys of users. The first key of a user is in `users` as well, where servers of the version before look for it: that
-- copy is made useless when the key is revoked.
create table api_keys (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  name text not null,
  key_id text not null unique,
  key_sha256 bytea not null check (octet_length(key_sha256) = 32),
  -- A list of `read`, `publish`, `operate`, `admin`.
  scopes jsonb not null check (jsonb_array_length(scopes) > 0),
  -- Null: all sources of the user.
  source_uuids jsonb check (jsonb_array_length(source_uuids) > 0),
  created_at timestamptz(3) not null default now(),
  -- Written about once per minute.
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);
create index api_keys_by_time on api_keys (user_uuid, created_at desc, uuid desc);

insert into api_keys (uuid, user_uuid, name, key_id, key_sha256, scopes, created_at, revoked_at)
select uuid, uuid, 'first', key_id, key_sha256, '["admin"]', created_at, revoked_at from users;

-- Also for users that a server of the version before creates.
create function add_first_key() returns trigger language plpgsql as $$
begin
  insert into api_keys (uuid, user_uuid, name, key_id, key_sha256, scopes, created_at)
  values (new.uuid, new.uuid, 'first', new.key_id, new.key_sha256, '["admin"]', new.created_at);
  return null;
end
$$;
create trigger users_first_key after insert on users for each row execute function add_first_key();
