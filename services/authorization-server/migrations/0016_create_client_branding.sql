-- Logos of clients as this server encoded them (docs/adr/0033-logos.md). Two clients with the same logo share a row; a row
-- without a client is deleted later.
create table client_logos (
  -- SHA-256 of the image, hexadecimal; also its address.
  hash text primary key check (hash ~ '^[0-9a-f]{64}$'),
  -- PNG.
  image bytea not null check (octet_length(image) <= 400000),
  created_at timestamptz not null
);

-- What pages show of a client beside its name; null: nothing.
alter table clients add column home_page text check (length(home_page) between 1 and 2000);
alter table clients add column publisher text check (length(publisher) between 1 and 80);
alter table clients add column privacy_policy text check (length(privacy_policy) between 1 and 2000);
alter table clients add column terms text check (length(terms) between 1 and 2000);
alter table clients add column logo text references client_logos;

create index clients_logo on clients (logo) where logo is not null;
