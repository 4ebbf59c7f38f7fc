-- Apart from 0009: the statements of the service write grants and access tokens in either order, so a transaction that
-- locked both tables could deadlock with them.
set local lock_timeout = '5s';

create trigger announce_ended after update of ended_at on grants for each row
  when (old.ended_at is null and new.ended_at is not null) execute function announce_revocation('grant_id', 'grant_id');
create trigger announce_deleted after delete on grants for each row
  when (old.ended_at is null and old.expires_at > now()) execute function announce_revocation('grant_id', 'grant_id');
