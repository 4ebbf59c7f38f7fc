-- Clients that authenticate with a key: `private_key_jwt` (RFC 7523 section 2.2, docs/adr/0050-clients-with-keys.md).
alter table clients
  -- required: each request has an assertion; allowed: it may have the client id alone. Null: the client has no key.
  add column private_key_jwt text check (private_key_jwt in ('required', 'allowed')),
  -- Where its keys are. Null: client_keys has them.
  add column jwks_uri text check (length(jwks_uri) between 1 and 2000),
  -- The only algorithm that it signs with; null: any of its keys.
  add column assertion_algorithm text,
  add constraint jwks_uri_of_client_with_key check (jwks_uri is null or private_key_jwt is not null);

-- Keys that operators and developers registered. Two are live while one replaces the other.
create table client_keys (
  client_id text not null references clients on delete cascade,
  kid text not null check (length(kid) between 1 and 256),
  -- The public key (RFC 7517), with the same kid.
  jwk jsonb not null check (jwk ->> 'kid' = kid),
  created_at timestamptz not null,
  -- To within a few minutes. It shows whether an old key can be removed.
  last_used_at timestamptz,
  primary key (client_id, kid)
);

-- The keys at `jwks_uri`, as a process fetched them last, and those of a client id metadata document.
create table client_key_sets (
  client_id text primary key references clients on delete cascade,
  -- Where the keys are from; null: from the document itself. Other keys than those of the client's `jwks_uri` do not count.
  jwks_uri text,
  -- An array of public keys (RFC 7517).
  keys jsonb not null,
  fetched_at timestamptz not null,
  fresh_until timestamptz not null
);

-- Keys are a part of their client, so that a removal acts at once. Their last use is not cached.
create trigger announce_to_registry after insert or delete or update of client_id, kid, jwk on client_keys for each row
  execute function announce_registry_change('clients', 'client_id');
create trigger announce_truncated after truncate on client_keys for each statement
  execute function announce_registry_change('clients');
create trigger announce_to_registry after insert or update or delete on client_key_sets for each row
  execute function announce_registry_change('clients', 'client_id');
create trigger announce_truncated after truncate on client_key_sets for each statement
  execute function announce_registry_change('clients');
