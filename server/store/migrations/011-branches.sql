-- Slots of a graph that clients have attached to a process: attached again in every run of it. Those of a process that has
-- ended are attached no longer.
create table process_branches (
  uuid uuid primary key,
  process_uuid uuid not null references processes on delete cascade,
  slot text not null,
  params jsonb not null,
  attached_at timestamptz(3) not null default now()
);
create index on process_branches (process_uuid);
