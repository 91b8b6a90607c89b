-- How the telemetry of a process comes in, as its source had it when the process was started: a change of the source
-- counts from the next start on, and a server that takes a process up is no start. Gone when the process has ended: it
-- may hold a password.
alter table processes add column telemetry_cfg jsonb;

update processes set telemetry_cfg = sources.telemetry_cfg
from sources
where sources.uuid = processes.source_uuid and processes.state not in ('finished', 'failed');
