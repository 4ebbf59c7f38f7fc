-- Refresh tokens that another server issued (docs/adr/0065-tokens-of-another-server.md). The import stores each of them in grants and
-- refresh_tokens as well, where it ends as those of this server do. While this table is empty, no value without our prefix is looked up.
create table foreign_refresh_tokens (
  -- SHA-256 of the token; of one of Ory Hydra, of its signature.
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  -- The end that the other server gave it. The row stays until then, so that a repeated import does not store an ended token again.
  expires_at timestamptz not null
);

create index foreign_refresh_tokens_expires_at on foreign_refresh_tokens (expires_at);
