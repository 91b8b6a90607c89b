-- additive
-- Models that keys upload. Nodes write their files when they run them.
create table models (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  name text not null,
  -- SHA-256 of the ONNX file, in hexadecimal.
  digest text not null,
  size_bytes bigint not null,
  card jsonb not null,
  labels jsonb not null,
  author text not null,
  created_at timestamptz(3) not null default now(),
  unique (user_uuid, name)
);

-- The ONNX file.
create table model_parts (
  model_uuid uuid not null references models on delete cascade,
  part integer not null,
  bytes bytea not null,
  primary key (model_uuid, part)
);

-- Names of uploaded models that the graph of a process names.
alter table processes add column models jsonb not null default '[]';
