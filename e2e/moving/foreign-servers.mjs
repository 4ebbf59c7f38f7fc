// Databases of other authorization servers: tables with the columns that the migrations of each project create and that an export or a
// row needs, and rows as the project writes them. The projects themselves do not run here.
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'

/**
 * @typedef {object} ForeignServer
 * @property {string} heading of its part of docs/moving-here.md
 * @property {string} tables
 * @property {string} users inserts `$1`, the names of the users
 * @property {string} tokens inserts `$1`, a list of {"number","client","user","stored","ended"}
 * @property {string} [consents] inserts `$1`, a list of {"client","user"}, where consents have a table
 * @property {() => { sent: string, stored: string }} newToken a refresh token as the client sends it, and as the server stores it
 */

/** @param {string} text @param {'hex' | 'base64url'} encoding */
const sha256 = (text, encoding) => createHash('sha256').update(text).digest(encoding)

/** @param {number} bytes */
const random = (bytes) => randomBytes(bytes).toString('base64url')

/** @returns {{ sent: string, stored: string }} */
function plainToken() {
  const sent = random(32)
  return { sent, stored: sent }
}

const TOKENS = `jsonb_to_recordset($1::jsonb) as t (number integer, client text, "user" text, stored text, ended boolean)`

/** @type {ForeignServer} */
const doorkeeper = {
  heading: 'Doorkeeper',
  tables: `
    create table users (id bigserial primary key, email text not null unique);
    create table oauth_applications (id bigserial primary key, name varchar not null, uid varchar not null unique, secret varchar not null,
      redirect_uri text not null, scopes varchar not null default '', confidential boolean not null default true,
      created_at timestamp not null, updated_at timestamp not null);
    create table oauth_access_tokens (id bigserial primary key, resource_owner_id bigint, application_id bigint not null
      references oauth_applications, token varchar not null unique, refresh_token varchar unique, expires_in integer, scopes varchar,
      created_at timestamp not null, revoked_at timestamp, previous_refresh_token varchar not null default '')`,
  users: 'insert into users (email) select unnest($1::text[])',
  tokens: `with app as (
      insert into oauth_applications (name, uid, secret, redirect_uri, created_at, updated_at)
      select distinct 'App', client, 'secret', 'https://app.example/callback', now(), now() from ${TOKENS} returning id, uid)
    insert into oauth_access_tokens (resource_owner_id, application_id, token, refresh_token, expires_in, scopes, created_at, revoked_at)
    select u.id, app.id, md5(t.stored), t.stored, 7200, 'public files.read', now() at time zone 'UTC',
      case when t.ended then now() at time zone 'UTC' end
    from ${TOKENS} join app on app.uid = t.client join users u on u.email = t."user"`,
  newToken: plainToken
}

/** @type {ForeignServer} */
const doorkeeperHashed = {
  ...doorkeeper,
  newToken() {
    const sent = random(32)
    return { sent, stored: sha256(sent, 'hex') }
  }
}

/** @type {ForeignServer} */
const djangoOauthToolkit = {
  heading: 'django-oauth-toolkit',
  tables: `
    create table auth_user (id serial primary key, username varchar(150) not null unique, password varchar(128) not null);
    create table oauth2_provider_application (id bigserial primary key, client_id varchar(100) not null unique, redirect_uris text not null,
      client_type varchar(32) not null, authorization_grant_type varchar(32) not null, client_secret varchar(255) not null,
      name varchar(255) not null, user_id integer, skip_authorization boolean not null, created timestamptz not null, updated timestamptz not null);
    create table oauth2_provider_accesstoken (id bigserial primary key, token varchar(255) not null unique, expires timestamptz not null,
      scope text not null, application_id bigint, user_id integer, created timestamptz not null, updated timestamptz not null,
      source_refresh_token_id bigint);
    create table oauth2_provider_refreshtoken (id bigserial primary key, token varchar(255) not null, access_token_id bigint unique,
      application_id bigint not null, user_id integer not null, created timestamptz not null, updated timestamptz not null,
      revoked timestamptz, unique (token, revoked))`,
  users: `insert into auth_user (username, password) select name, '!' from unnest($1::text[]) as name`,
  tokens: `with app as (
      insert into oauth2_provider_application (client_id, redirect_uris, client_type, authorization_grant_type, client_secret, name,
        skip_authorization, created, updated)
      select distinct client, 'https://app.example/callback', 'confidential', 'authorization-code', 'secret', 'App', false, now(), now()
      from ${TOKENS} returning id, client_id),
    access as (
      insert into oauth2_provider_accesstoken (token, expires, scope, application_id, user_id, created, updated)
      select md5(t.stored), now(), 'read files.read', app.id, u.id, now(), now()
      from ${TOKENS} join app on app.client_id = t.client join auth_user u on u.username = t."user" returning id, token)
    insert into oauth2_provider_refreshtoken (token, access_token_id, application_id, user_id, created, updated, revoked)
    select t.stored, access.id, app.id, u.id, now(), now(), case when t.ended then now() end
    from ${TOKENS} join access on access.token = md5(t.stored) join app on app.client_id = t.client
    join auth_user u on u.username = t."user"`,
  newToken() {
    const sent = randomBytes(15).toString('hex')
    return { sent, stored: sent }
  }
}

/** @type {ForeignServer} */
const spring = {
  heading: 'Spring Authorization Server',
  tables: `
    create table oauth2_registered_client (id varchar(100) primary key, client_id varchar(100) not null, client_id_issued_at timestamp not null
      default current_timestamp, client_secret varchar(200), client_secret_expires_at timestamp, client_name varchar(200) not null,
      client_authentication_methods varchar(1000) not null, authorization_grant_types varchar(1000) not null, redirect_uris varchar(1000),
      scopes varchar(1000) not null, client_settings varchar(2000) not null, token_settings varchar(2000) not null);
    create table oauth2_authorization (id varchar(100) primary key, registered_client_id varchar(100) not null,
      principal_name varchar(200) not null, authorization_grant_type varchar(100) not null, authorized_scopes varchar(1000), attributes text,
      access_token_value text, refresh_token_value text, refresh_token_issued_at timestamp, refresh_token_expires_at timestamp,
      refresh_token_metadata text);
    create table oauth2_authorization_consent (registered_client_id varchar(100) not null, principal_name varchar(200) not null,
      authorities varchar(1000) not null, primary key (registered_client_id, principal_name))`,
  users: 'select 1 where $1::text[] is null',
  tokens: `with app as (
      insert into oauth2_registered_client (id, client_id, client_name, client_authentication_methods, authorization_grant_types, scopes,
        client_settings, token_settings)
      select distinct 'id of ' || client, client, 'App', 'client_secret_basic', 'authorization_code,refresh_token', 'files.read', '{}', '{}'
      from ${TOKENS})
    insert into oauth2_authorization (id, registered_client_id, principal_name, authorization_grant_type, authorized_scopes,
      refresh_token_value, refresh_token_issued_at, refresh_token_expires_at, refresh_token_metadata)
    select gen_random_uuid(), 'id of ' || t.client, t."user", 'authorization_code', 'openid,files.read', t.stored, now() at time zone 'UTC',
      now() at time zone 'UTC' + interval '60 days',
      '{"@class":"java.util.Collections$UnmodifiableMap","metadata.token.invalidated":' || t.ended || '}'
    from ${TOKENS}`,
  consents: `insert into oauth2_authorization_consent (registered_client_id, principal_name, authorities)
    select 'id of ' || client, "user", 'SCOPE_openid,SCOPE_files.read,ROLE_x' from jsonb_to_recordset($1::jsonb) as t (client text, "user" text)`,
  newToken() {
    const sent = random(96)
    return { sent, stored: sent }
  }
}

/** @type {ForeignServer} */
const betterAuth = {
  heading: 'better-auth',
  tables: `
    create table "user" (id text primary key, name text not null, email text not null unique);
    create table "oauthClient" (id text primary key, "clientId" text not null unique, "clientSecret" text, scopes text, "redirectUris" text not null,
      public boolean);
    create table "oauthRefreshToken" (id text primary key, token text not null unique, "clientId" text not null, "sessionId" text,
      "userId" text not null, "expiresAt" timestamptz, "createdAt" timestamptz, revoked timestamptz, "rotatedAt" timestamptz,
      scopes text not null);
    create table "oauthConsent" (id text primary key, "clientId" text not null, "userId" text, scopes text not null, "createdAt" timestamptz,
      "updatedAt" timestamptz)`,
  users: `insert into "user" (id, name, email) select md5(name), name, name from unnest($1::text[]) as name`,
  tokens: `with app as (
      insert into "oauthClient" (id, "clientId", "redirectUris") select distinct md5(client), client, '["https://app.example/callback"]'
      from ${TOKENS})
    insert into "oauthRefreshToken" (id, token, "clientId", "userId", "expiresAt", "createdAt", revoked, scopes)
    select gen_random_uuid(), t.stored, t.client, md5(t."user"), now() + interval '30 days', now(), case when t.ended then now() end,
      '["openid","files.read"]'
    from ${TOKENS}`,
  consents: `insert into "oauthConsent" (id, "clientId", "userId", scopes, "createdAt")
    select gen_random_uuid(), client, md5("user"), '["openid","files.read"]', now() from jsonb_to_recordset($1::jsonb) as t (client text, "user" text)`,
  newToken() {
    const sent = random(24)
    return { sent, stored: sha256(sent, 'base64url') }
  }
}

const HYDRA_SECRET = randomUUID()

/** @type {ForeignServer} */
const hydra = {
  heading: 'Ory Hydra',
  tables: `
    create table hydra_client (id varchar(255) primary key, client_name text not null, token_endpoint_auth_method varchar(25) not null);
    create table hydra_oauth2_refresh (signature varchar(255) primary key, request_id varchar(40) not null, requested_at timestamp not null,
      client_id varchar(255) not null, scope text not null, granted_scope text not null, form_data text not null, session_data text not null,
      subject varchar(255) not null, active boolean not null default true, requested_audience text, granted_audience text,
      challenge_id varchar(40), expires_at timestamp);
    create table hydra_oauth2_flow (login_challenge varchar(40) not null, subject varchar(255) not null, client_id varchar(255) not null,
      requested_at timestamp not null, state integer not null, granted_scope text, consent_remember boolean not null default false,
      consent_remember_for integer, consent_error text, consent_handled_at timestamp)`,
  users: 'select 1 where $1::text[] is null',
  tokens: `with app as (
      insert into hydra_client (id, client_name, token_endpoint_auth_method) select distinct client, 'App', 'client_secret_basic' from ${TOKENS})
    insert into hydra_oauth2_refresh (signature, request_id, requested_at, client_id, scope, granted_scope, form_data, session_data, subject,
      active, expires_at)
    select t.stored, gen_random_uuid(), now() at time zone 'UTC', t.client, 'offline|files.read', 'offline|files.read', '', '{}', t."user",
      not t.ended, now() at time zone 'UTC' + interval '30 days'
    from ${TOKENS}`,
  consents: `insert into hydra_oauth2_flow (login_challenge, subject, client_id, requested_at, state, granted_scope, consent_remember,
      consent_remember_for, consent_error, consent_handled_at)
    select gen_random_uuid(), "user", client, now(), 6, '["offline","files.read"]', true, 0, '{}', now() at time zone 'UTC'
    from jsonb_to_recordset($1::jsonb) as t (client text, "user" text)`,
  newToken() {
    const key = randomBytes(32)
    const stored = createHmac('sha512-256', HYDRA_SECRET).update(key).digest('base64url')
    return { sent: `ory_rt_${key.toString('base64url')}.${stored}`, stored }
  }
}

/** @type {Readonly<Record<string, ForeignServer>>} */
export const foreignServers = {
  doorkeeper,
  'doorkeeper-hashed': doorkeeperHashed,
  'django-oauth-toolkit': djangoOauthToolkit,
  spring,
  'better-auth': betterAuth,
  hydra
}
