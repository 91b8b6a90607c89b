-- additive
-- Who signed in to the console through an identity provider: then the key is the session. Null: a key that was created.
alter table api_keys add column person text;
create index api_keys_sessions on api_keys (user_uuid, created_at) where person is not null;
