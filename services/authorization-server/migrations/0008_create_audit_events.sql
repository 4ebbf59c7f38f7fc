-- No foreign keys: an event outlives the user and the client that it names.
create table audit_events (
  event_id bigint generated always as identity primary key,
  occurred_at timestamptz not null,
  event text not null,
  request_id text,
  -- Null: the request carried no trace context of a trusted caller.
  trace_id text,
  client_id text,
  user_id uuid,
  address text,
  details jsonb not null
);

create index audit_events_occurred_at on audit_events (occurred_at);
create index audit_events_request_id on audit_events (request_id);
-- Partial, so that installations without tracing write nothing to it.
create index audit_events_trace_id on audit_events (trace_id) where trace_id is not null;
