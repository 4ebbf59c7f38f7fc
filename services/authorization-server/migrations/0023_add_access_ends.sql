-- When the access of an app ends because its user chose so at Allow (docs/adr/0058-access-choices.md). Null: no such choice.

-- No token of the grant is valid later. The exchange sets it. A user may make it earlier, never later; a token that would last longer
-- has ended then.
alter table grants add column ends_at timestamptz;
-- The app asks again from then on.
alter table consents add column ends_at timestamptz;

-- An earlier end is announced as the end of a grant is: each guard deletes its cached results of the grant and introspects again.
create trigger announce_earlier_end after update of ends_at on grants for each row
  when (old.ended_at is null and new.ended_at is null and old.ends_at is distinct from new.ends_at)
  execute function announce_revocation('grant_id', 'grant_id');
