-- additive
-- Notices of alerts, as they were sent. They outlive their alert, process and source, and are removed by their age.
create table notices (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  alert_uuid uuid not null,
  process_uuid uuid not null,
  source_uuid uuid not null,
  happened_at timestamptz(3) not null,
  -- The notice itself.
  body jsonb not null,
  -- When it was marked as reviewed, and by which user; null: it is not.
  reviewed_at timestamptz(3),
  reviewed_by text,
  comment text
);
create index notices_by_time on notices (user_uuid, happened_at desc, uuid desc);
create index notices_of_alert on notices (user_uuid, alert_uuid, happened_at desc, uuid desc);
create index notices_of_process on notices (user_uuid, process_uuid, happened_at desc, uuid desc);
create index notices_of_source on notices (user_uuid, source_uuid, happened_at desc, uuid desc);
create index notices_unreviewed on notices (user_uuid, happened_at desc, uuid desc) where reviewed_at is null;
create index notices_reviewed on notices (user_uuid, happened_at desc, uuid desc) where reviewed_at is not null;
create index notices_by_age on notices (happened_at);

-- The classes of its tracks, each once: a page of a rare one is found as quickly as one of a common one.
create table notice_classes (
  user_uuid uuid not null,
  class_name text not null,
  happened_at timestamptz(3) not null,
  uuid uuid not null references notices on delete cascade,
  primary key (user_uuid, class_name, happened_at, uuid)
);
create index notice_classes_of_notice on notice_classes (uuid);
