-- No foreign keys: an event outlives the user and the client that it names.
create table audit_events (
  event_id bigint generated always as identity primary key,
  occurred_at timestamptz not null,
  event text not null,
  request_id text,
  client_id text,
  user_id uuid,
  address text,
  details jsonb not null
);

create index audit_events_occurred_at on audit_events (occurred_at);
create index audit_events_request_id on audit_events (request_id);
