-- Clients that no operator registered: their id is the URL of their metadata document, and a user allowed them. The row has what
-- the document said at the last Allow (docs/adr/0031-client-id-metadata-documents.md).
alter table clients add column origin text not null default 'registered' check (origin in ('registered', 'discovered'));

-- When a user last allowed it, to the hour. Null for clients of other origins.
alter table clients add column last_allowed_at timestamptz;

-- As long as a client id URL may be.
alter table clients add constraint client_id_length check (length(client_id) <= 500);
