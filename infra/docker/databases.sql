-- Creates or updates two databases and a role for each; safe to run at each start.
-- Neither service can connect to the other's database (the two share nothing but HTTP).
\set ON_ERROR_STOP on
\set authorization_password `cat /run/valetkey/authorization-password`
\set files_password `cat /run/valetkey/files-password`

select 'create role valetkey_authorization login' where not exists (select from pg_roles where rolname = 'valetkey_authorization') \gexec
select 'create role valetkey_files login' where not exists (select from pg_roles where rolname = 'valetkey_files') \gexec
alter role valetkey_authorization password :'authorization_password';
alter role valetkey_files password :'files_password';

select 'create database valetkey_authorization owner valetkey_authorization' where not exists (select from pg_database where datname = 'valetkey_authorization') \gexec
select 'create database valetkey_files owner valetkey_files' where not exists (select from pg_database where datname = 'valetkey_files') \gexec

-- An owner keeps its own right to connect; other roles lose the default right of PUBLIC.
revoke connect, temporary on database valetkey_authorization from public;
revoke connect, temporary on database valetkey_files from public;
revoke connect, temporary on database postgres, template1 from public;
