-- Names are compared by the rules of UTS #39 (docs/adr/0046-look-alike-names.md). Postgres cannot make the keys: `valetkey migrate`
-- makes those of existing rows after the migrations (storage/postgres/name-keys.ts). Each key begins with the version of the rules.

-- A registered client has one or two keys; null for others, whose names app_names has, unless an operator renamed them.
alter table clients add column name_keys text[];
update clients set name_keys = array[name_key] where name_key is not null;
alter table clients drop column name_key;
create index clients_name_keys on clients using gin (name_keys);

-- A new name is taken once. Names that were different by earlier rules, and are not any more, stay: all but one share the key.
alter table app_names
  drop constraint app_names_pkey,
  add column is_shared boolean not null default false,
  add primary key (name_key, client_id);
create unique index app_names_taken on app_names (name_key) where not is_shared;

-- In which user names that look alike are equal. Not unique: operators and imports may create such users.
alter table users add column name_key text;
create index users_name_key on users (name_key);
