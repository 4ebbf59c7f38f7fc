-- Passkeys of local accounts (WebAuthn Level 3).
create table passkeys (
  -- Credential id, base64url.
  passkey_id text primary key,
  user_id uuid not null references users on delete cascade,
  -- COSE key.
  public_key bytea not null,
  -- Signature counter; 0 for a passkey that is synchronized between devices.
  counter bigint not null,
  transports text[] not null,
  device_type text not null check (device_type in ('singleDevice', 'multiDevice')),
  backed_up boolean not null,
  aaguid uuid not null,
  -- As the user typed it.
  name text not null,
  -- At most 20 for each user, also if two are added at the same moment.
  position smallint not null check (position between 1 and 20),
  created_at timestamptz not null,
  last_used_at timestamptz,
  unique (user_id, position)
);

-- The user handle of WebAuthn: random, so that an authenticator learns nothing about the user.
create table passkey_users (
  user_id uuid primary key references users on delete cascade,
  user_handle bytea not null unique check (octet_length(user_handle) = 32)
);
