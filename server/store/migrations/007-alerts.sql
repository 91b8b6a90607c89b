-- Whether the graph of a process evaluates alerts: registered ones apply to it.
alter table processes add column takes_alerts boolean not null default false;

-- `configuration` and `output` are the newest: what the next start of a process takes. What a process runs with is kept
-- below, so that a crash, of its runner or of the server, changes nothing. `output` holds secrets, and with each output
-- the uuid of its destination.
alter table alerts drop column pending;
-- How many values the configuration holds: all of a user's are told to every runner at once.
alter table alerts add column weight integer not null check (weight >= 0);
create index on alerts (process_uuid) where process_uuid is not null;

-- What every process runs with, whether the alert is active or not. Gone with the end of the process.
create table process_alerts (
  uuid uuid primary key default gen_random_uuid(),
  process_uuid uuid not null references processes on delete cascade,
  alert_uuid uuid not null references alerts on delete cascade,
  configuration jsonb not null,
  output jsonb not null,
  created_at timestamptz(3) not null default now(),
  unique (process_uuid, alert_uuid)
);
create index on process_alerts (alert_uuid);
