-- Clients under a profile (docs/adr/0057-fapi2.md). Null: none.

-- Whether a refresh replaces the refresh token. Only a client that authenticates itself may keep it (RFC 9700 §4.14.2).
alter table clients add column rotates_refresh_tokens boolean not null default true
  check (rotates_refresh_tokens or type = 'confidential');

-- The settings that the profile requires. They are stored as well, so that the code that enforces each knows nothing of profiles.
alter table clients add column profile text check (profile = 'fapi2');
alter table clients add constraint clients_follow_profile check (
  profile is null
  or (type = 'confidential' and private_key_jwt is not distinct from 'required' and requires_pkce and requires_par and dpop_bound
    and not rotates_refresh_tokens));
