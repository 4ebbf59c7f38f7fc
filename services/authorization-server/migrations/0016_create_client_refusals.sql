-- The last refused requests of each client, for its developer. At most 100 rows for each client (storage/postgres/client-refusals.ts).
-- Nothing in a row names a user, an address, a code or a token.
create table client_refusals (
  refusal_id bigint generated always as identity primary key,
  client_id text not null references clients on delete cascade,
  occurred_at timestamptz not null,
  endpoint text not null check (endpoint in ('authorize', 'par', 'token', 'revoke', 'leaked')),
  -- The OAuth error code.
  error text not null,
  -- platform/client-refusals/shown-reason.ts
  reason text not null,
  -- As in the response; null: the response was an error page.
  description text check (length(description) <= 300),
  request_id text not null,
  -- The redirect URI that was sent, without values of its query; null: not about the redirect URI.
  redirect_uri text check (length(redirect_uri) <= 500),
  -- The client was authenticated, by its secret or a key. Otherwise anyone can have sent it.
  authenticated boolean not null
);

create index client_refusals_client_id on client_refusals (client_id, refusal_id);
create index client_refusals_occurred_at on client_refusals (occurred_at);
