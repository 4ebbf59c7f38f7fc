-- Seconds, and only ever shorter than what the server is set to; null is what the server is set to. A process of the release
-- before this one goes by the server's settings alone.
-- Rather fail, and be run again, than hold up every writer behind one that is stuck.
set local lock_timeout = '5s';

alter table clients
  add column access_token_ttl integer check (access_token_ttl > 0),
  add column refresh_token_idle_ttl integer check (refresh_token_idle_ttl > 0),
  add column refresh_token_max_ttl integer check (refresh_token_max_ttl > 0);
