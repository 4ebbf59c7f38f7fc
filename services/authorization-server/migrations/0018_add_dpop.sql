-- Keys of clients, as SHA-256 thumbprints (RFC 7638), in codes and tokens (docs/adr/0052-dpop.md). Null everywhere: no key.

-- The dpop_jkt of the authorization request, as code_challenge.
alter table grants add column dpop_jkt text;
-- The key of the first access token of the grant that was bound: from then on the grant gives no bearer token for an API that
-- takes bound ones.
alter table grants add column jkt text;
-- The tables of an hour inherit it.
alter table access_tokens add column jkt text;
-- Of public clients only: the other clients authenticate themselves (RFC 9449 §5).
alter table refresh_tokens add column jkt text;

-- Whether each token request of the client must have a proof (RFC 9449 §5.2).
alter table clients add column dpop_bound boolean not null default false;
-- Whether access tokens for the API are bound: if the client sends a proof, or always. Null: never, because the API reads no
-- proofs. Several credentials of an API have the same value, or the strictest counts.
alter table resource_servers add column dpop text check (dpop in ('allowed', 'required'));

-- As in 0011_announce_registry_changes.sql, with the new column.
drop trigger announce_to_registry on resource_servers;
create trigger announce_to_registry
  after insert or delete or truncate or update of client_id, name, title, dpop, audience, secret_hash, created_at
  on resource_servers for each statement execute function announce_registry_change('resource_servers');
