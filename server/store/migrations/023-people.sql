-- additive
-- Deliveries by mail. Servers of the version before leave these destinations to the others.
alter table destinations drop constraint destinations_kind_check;
alter table destinations add constraint destinations_kind_check check (kind in ('mqtt', 'webhook', 'email'));

-- Recipients of mails of each user, since the beginning of the hour that is counted.
create table mail_counts (
  user_uuid uuid primary key references users on delete cascade,
  since timestamptz(3) not null,
  amount integer not null
);

-- When the alert is evaluated; null: always.
alter table alerts add column schedule jsonb;

-- Detections for brokers.
alter table outputs drop constraint outputs_type_check;
alter table outputs add constraint outputs_type_check
  check (type in ('rtsp', 'rtmp', 'detection_data', 'drone_data', 'cot', 'mqtt'));
