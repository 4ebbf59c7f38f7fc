-- A grant that a client from a metadata document made with its key is refreshed with a key only, whatever the document says by then
-- (docs/adr/0031-client-id-metadata-documents.md). Null: no.
alter table grants add column requires_key boolean;
