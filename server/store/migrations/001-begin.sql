-- Desired state: what should be, so that after any crash it can be made so again. Times are timestamptz(3), so that a
-- cursor made of one as JavaScript reads it finds its row again; amounts of use are whole milliseconds. Every row of a
-- user goes with the user.

-- One key, one user. A master has no master.
create table users (
  uuid uuid primary key,
  username text not null unique check (username ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  master_uuid uuid references users on delete cascade,
  product text not null,
  key_id text not null unique,
  key_sha256 bytea not null check (octet_length(key_sha256) = 32),
  has_track_logger boolean not null,
  has_recording boolean not null,
  has_enhancement boolean not null,
  is_graph_author boolean not null,
  -- Of who runs the service: sees numbers of all users.
  is_operator boolean not null default false,
  -- Only what differs from the limits of the configuration.
  limits jsonb not null default '{}',
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  -- Null: unlimited. Pending: bought, not handed out yet; only a master has any.
  allocated_ms bigint check (allocated_ms >= 0),
  pending_ms bigint not null default 0 check (pending_ms >= 0)
);
create index on users (master_uuid);

create table sources (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  alias text not null,
  type text not null check (type in ('file', 'stream')),
  stream_type text check (stream_type in ('rtsp', 'rtmp')),
  -- With credentials: masked on the way out. Of files: the name they were uploaded as.
  input_url text not null,
  telemetry_cfg jsonb,
  -- What makes it the same as another of this user: of a stream its address and telemetry, of a file its bytes.
  identity bytea not null,
  -- Of streams that are published to our own hub: `<username>/<path>` there. Else null.
  hub_path text,
  -- Of files: the name below the data directory.
  file_name text,
  file_bytes bigint,
  duration_ms bigint,
  created_at timestamptz(3) not null default now(),
  unique (user_uuid, identity)
);
create index on sources (user_uuid, created_at desc, uuid desc);
create index on sources (hub_path) where hub_path is not null;

-- Room promised to uploads that are under way: two at once cannot pass the limit together. Gone with its server.
create table upload_reservations (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  node_uuid uuid not null,
  bytes bigint not null,
  created_at timestamptz(3) not null default now()
);

create table outputs (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  alias text not null,
  type text not null check (type in ('rtsp', 'rtmp', 'detection_data', 'drone_data')),
  url text,
  settings text check (settings in ('360p', '720p', '1080p')),
  identity bytea not null,
  created_at timestamptz(3) not null default now(),
  unique (user_uuid, identity)
);
create index on outputs (user_uuid, created_at desc, uuid desc);

-- What was published to a media-server source, from start to stop; kept when the source goes, until it is too old.
create table recordings (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  source_uuid uuid not null,
  alias text not null,
  -- Whose disk it is on.
  node_uuid uuid not null,
  started_at timestamptz(3) not null default now(),
  stopped_at timestamptz(3),
  -- Why it ended, if not because its stream did.
  detail text
);
create index on recordings (user_uuid, started_at desc, uuid desc);

create table recording_segments (
  recording_uuid uuid not null references recordings on delete cascade,
  index integer not null check (index >= 0),
  started_at timestamptz(3) not null,
  duration_ms bigint not null check (duration_ms >= 0),
  size_bytes bigint not null check (size_bytes >= 0),
  primary key (recording_uuid, index)
);

-- What this installation signs addresses with; one row.
create table signing_keys (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32)
);

-- The machines that share this database. One that has not renewed in time has lost what it claimed.
create table nodes (
  uuid uuid primary key,
  started_at timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now()
);

create table processes (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  -- Kept when the source goes: a finished process still says what it ran on.
  source_uuid uuid not null,
  source_url text not null,
  graph text not null,
  -- Of graphs that are not installed (`POST /graphs/try`); else null.
  graph_text text,
  params jsonb not null,
  -- Properties of nodes that were set while it ran, by node: set again in the next run.
  live jsonb not null default '{}',
  has_track_logger boolean not null,
  -- What is wanted, and what is.
  desired text not null check (desired in ('running', 'paused', 'stopped')),
  state text not null check (state in ('starting', 'running', 'paused', 'stopping', 'finished', 'failed')),
  error_code text,
  error_detail text,
  -- Where it goes on after a crash: the place in a file, and the first id not given yet.
  position_ns bigint not null default 0,
  next_track_id bigint not null default 1,
  restarts integer not null default 0,
  -- Ends by itself.
  ends_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  -- Who runs it. The fence grows with every claim: what an earlier owner still writes does not match and is lost.
  node_uuid uuid,
  lease_until timestamptz(3),
  fence bigint not null default 0
);
create index on processes (user_uuid, created_at desc, uuid desc);
create index processes_active on processes (user_uuid) where state not in ('finished', 'failed');
create index processes_on_source on processes (source_uuid) where state not in ('finished', 'failed');

create table process_outputs (
  output_uuid uuid primary key references outputs on delete restrict,
  process_uuid uuid not null references processes on delete cascade,
  attached_at timestamptz(3) not null default now()
);
create index on process_outputs (process_uuid);

-- How long a process ran, counted anew in every run of it: written as the whole so far, so that writing twice counts once.
create table usage (
  process_uuid uuid not null,
  fence bigint not null,
  user_uuid uuid not null references users on delete cascade,
  running_ms bigint not null check (running_ms >= 0),
  updated_at timestamptz(3) not null default now(),
  primary key (process_uuid, fence)
);
create index on usage (user_uuid);

create table alerts (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  -- Of one process only, and gone with it; null for registered ones.
  process_uuid uuid references processes on delete cascade,
  alias text not null,
  type text not null,
  output jsonb not null,
  status text not null check (status in ('active', 'inactive')),
  configuration jsonb not null,
  -- A changed configuration that waits for the next start of a process.
  pending jsonb,
  created_at timestamptz(3) not null default now()
);
create index on alerts (user_uuid, created_at desc, uuid desc);

create table subscriptions (
  uuid uuid primary key,
  user_uuid uuid not null references users on delete cascade,
  process_uuid uuid not null references processes on delete cascade,
  event_type text not null,
  notification_url text not null,
  auth_url text,
  policy jsonb not null,
  format text not null check (format in ('simple', 'full')),
  secret text not null,
  created_at timestamptz(3) not null default now(),
  unique (process_uuid, event_type, notification_url)
);

create table reports (
  process_uuid uuid primary key references processes on delete cascade,
  user_uuid uuid not null references users on delete cascade,
  enhancement text check (enhancement in ('RUNNING', 'FINISHED', 'FAILED')),
  enhancement_detail text,
  created_at timestamptz(3) not null default now()
);
