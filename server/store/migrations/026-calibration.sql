-- additive
-- The error of the heading that the telemetry of a source reports, found with landmarks.
create table source_calibrations (
  source_uuid uuid primary key references sources (uuid) on delete cascade,
  heading_offset_deg double precision not null,
  heading_error_deg double precision not null,
  landmarks integer not null,
  calibrated_at timestamptz not null default now()
);

-- Of outputs to TAK servers: names, certificates and the private key.
alter table outputs add column tak varchar;
