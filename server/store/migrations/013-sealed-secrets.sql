-- Secrets are sealed by the server before they come here: every column of the type varchar, and no other, holds JSON that
-- is sealed (server/store/client.ts). Here they become JSON; the start that runs this seals them right after it.

-- The path at the media hub, as of sources: addresses cannot be read here any more.
alter table outputs add column hub_path text;
update outputs set hub_path = users.username || '/' || substr(url, length('rtsp://') + 1)
from users where users.uuid = user_uuid and type = 'rtsp';
create index on outputs (hub_path) where hub_path is not null;

-- Milliseconds after one has arrived that the next is sent.
alter table destinations add column spacing_ms double precision not null default 0;
update destinations set spacing_ms = (target->>'spacingMs')::double precision where target ? 'spacingMs';

alter table sources
  alter column input_url type varchar using to_json(input_url)::text,
  alter column telemetry_cfg type varchar using telemetry_cfg::text,
  -- A digest of the address with its password: whoever had it could try passwords.
  alter column identity type varchar using to_json(encode(identity, 'hex'))::text;
alter table outputs
  alter column url type varchar using to_json(url)::text,
  alter column identity type varchar using to_json(encode(identity, 'hex'))::text;
alter table processes alter column telemetry_cfg type varchar using telemetry_cfg::text;
alter table alerts alter column output type varchar using output::text;
alter table process_alerts alter column output type varchar using output::text;
alter table subscriptions
  alter column notification_url type varchar using to_json(notification_url)::text,
  alter column auth_url type varchar using to_json(auth_url)::text,
  alter column secret type varchar using to_json(secret)::text;
alter table destinations alter column target type varchar using target::text;
alter table signing_keys drop constraint signing_keys_secret_check;
alter table signing_keys alter column secret type varchar using to_json(encode(secret, 'base64'))::text;
