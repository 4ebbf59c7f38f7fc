-- What operators and owners of apps changed: few of all events, so other events write nothing to it.
create index audit_events_changes on audit_events (occurred_at) where details ? 'actor';
