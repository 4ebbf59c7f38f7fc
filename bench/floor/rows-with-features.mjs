// The rows of the floor with features: users, sessions, consents, grants and audit events, besides the tokens of the floor.
import { hash } from 'node:crypto'
import { coalesce } from './coalesce.mjs'

const TABLES = `
  create table fair_users (user_id uuid primary key, generation integer not null default 0);
  create table fair_sessions (session_hash bytea primary key, user_id uuid not null, generation integer not null);
  create table fair_consents (user_id uuid, client_id text, scope text not null, primary key (user_id, client_id));
  create table fair_grants (grant_id uuid primary key, client_id text not null, user_id uuid not null, scope text not null,
    redirect_uri text not null, code_hash bytea not null unique, generation integer not null,
    created_at timestamptz not null, expires_at timestamptz not null);
  create index on fair_grants (expires_at);
  create index on fair_grants (user_id, client_id);
  create table fair_audit (event_id bigint generated always as identity primary key, occurred_at timestamptz not null,
    event text not null, request_id uuid not null, client_id text, user_id uuid, address text, details jsonb);
  create index on fair_audit (occurred_at);
  create index on fair_audit (request_id);`

const READ_CONSENT = `select a.number::int, u.user_id, u.generation, c.scope
  from rows from (json_to_recordset($1) as (session bytea, client text)) with ordinality as a (session_hash, client_id, number)
  join fair_sessions s on s.session_hash = a.session_hash
  join fair_users u on u.user_id = s.user_id and u.generation = s.generation
  join fair_consents c on c.user_id = u.user_id and c.client_id = a.client_id`

const STORE_GRANTS = `with input as (
    select * from json_to_recordset($1) as a (grant_id uuid, client_id text, user_id uuid, scope text, redirect_uri text,
      generation integer, code_hash bytea, access_hash bytea)
  ), opened as (
    insert into fair_grants (grant_id, client_id, user_id, scope, redirect_uri, code_hash, generation, created_at, expires_at)
    select a.grant_id, a.client_id, a.user_id, a.scope, a.redirect_uri, a.code_hash, a.generation, now(),
      now() + interval '1 hour'
    from input a join fair_users u on u.user_id = a.user_id and u.generation = a.generation
    order by a.code_hash on conflict (code_hash) do nothing returning grant_id
  ), access as (
    insert into floor_tokens (token_hash, client_id, user_id, scope, issued_at, expires_at)
    select a.access_hash, a.client_id, a.user_id, a.scope, now(), now() + interval '1 hour'
    from opened join input a on a.grant_id = opened.grant_id
  ) select grant_id from opened`

const APPEND_AUDIT = `insert into fair_audit (occurred_at, event, request_id, client_id, user_id, address, details)
  select occurred_at, event, request_id, client_id, user_id, address, json_build_object('grantId', "grantId")
  from json_to_recordset($1) as a (occurred_at timestamptz, event text, request_id uuid, client_id text, user_id uuid,
    address text, "grantId" text)`

const AUDIT_EVERY_MS = 250

/** SHA-256 of a text, as Postgres reads it from JSON. */
export const hexOf = (secret) => `\\x${hash('sha256', secret, 'hex')}`

/** Concurrent calls of `readConsent` and of `storeGrant` share a statement; audit rows are written every 250 ms. */
export function createRows(database) {
  const query = async (name, text, values) =>
    (await database.query({ name, text, values: [JSON.stringify(values)] })).rows
  let waiting = []

  async function appendAudit() {
    const batch = waiting
    waiting = []
    await query('append-audit', APPEND_AUDIT, batch)
  }

  return {
    readConsent: coalesce(async (asked) => {
      const found = []
      for (const row of await query('read-consent', READ_CONSENT, asked)) found[row.number - 1] = row
      return found
    }),

    /** @returns whether the grant is stored */
    storeGrant: coalesce(async (grants) => {
      const stored = new Set((await query('store-grants', STORE_GRANTS, grants)).map((row) => row.grant_id))
      return grants.map(({ grant_id }) => stored.has(grant_id))
    }),

    audit(row) {
      if (waiting.length === 0) setTimeout(appendAudit, AUDIT_EVERY_MS)
      waiting.push(row)
    },

    /** The tables, one user with a session, and what the user allows the client. */
    async create({ USER_ID, SESSION, CLIENT_ID, SCOPE }) {
      await database.query(TABLES)
      await database.query('insert into fair_users values ($1)', [USER_ID])
      await database.query('insert into fair_sessions values ($1, $2, 0)', [hexOf(SESSION), USER_ID])
      await database.query('insert into fair_consents values ($1, $2, $3)', [USER_ID, CLIENT_ID, SCOPE])
    }
  }
}
