-- The authorization requests of the client must be pushed (RFC 9126 §6).
alter table clients add column requires_par boolean not null default false;
