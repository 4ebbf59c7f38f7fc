create table resource_servers (
  client_id text primary key,
  name text not null,
  -- The resource identifier (RFC 8707). Several credentials may share one.
  audience text not null,
  secret_hash bytea not null,
  created_at timestamptz not null,
  -- To within a few minutes.
  last_used_at timestamptz
);

create index resource_servers_audience on resource_servers (audience);
