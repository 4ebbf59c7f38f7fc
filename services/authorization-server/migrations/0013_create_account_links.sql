-- Links that an operator gives to a user: one invitation or reset link for each user, so a new link ends the earlier one.
create table account_links (
  user_id uuid primary key references users on delete cascade,
  -- SHA-256 of the token in the link.
  token_hash bytea not null unique,
  purpose text not null check (purpose in ('invitation', 'password_reset')),
  expires_at timestamptz not null
);
