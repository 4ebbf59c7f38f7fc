-- The title of the API in other languages, by language tag: {"de": "Dateien"}. As the title, it is on all credentials of the API.
alter table resource_servers add column title_in jsonb not null default '{}';
