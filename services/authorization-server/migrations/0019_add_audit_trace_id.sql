-- Null: the request carried no trace context of a trusted caller.
alter table audit_events add column trace_id text;

-- Partial, so that installations without tracing write nothing to it.
create index audit_events_trace_id on audit_events (trace_id) where trace_id is not null;
