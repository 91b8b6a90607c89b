-- additive
-- Streams that the nodes publish: each path on one node. A row counts while the lease of its node lasts. With a private
-- database there is one node, and no rows.
create table streams (
  path text primary key,
  node_uuid uuid not null references nodes on delete cascade,
  -- Number of the claim: a late removal does not concern the next publisher of the node.
  fence bigint not null,
  -- Published with a key, and not by a process: it counts against the limit of the key.
  is_by_key boolean not null,
  protocol text,
  width integer,
  height integer,
  has_audio boolean,
  -- Null: the publisher is authorized, its first keyframe has not arrived.
  since timestamptz(3)
) with (fillfactor = 50);
create index streams_of_node on streams (node_uuid);
