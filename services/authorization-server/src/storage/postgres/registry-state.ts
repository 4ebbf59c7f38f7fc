import type { Database } from '@valetkey/service-kit'

/** What `doctor` checks of an enabled client. */
export type ClientState = {
  clientId: string
  type: 'confidential' | 'public'
  redirectUris: readonly string[]
  requiresPkce: boolean
  issuesRefreshTokens: boolean
  consent: 'ask' | 'remember'
  /** It authenticates with a key and has no secret. */
  hasKey: boolean
  /** Live secrets without an expiry; after a rotation there is one. */
  endlessSecrets: number
  /** The oldest of the live secrets; undefined for a public client. */
  oldestSecretAt: Date | undefined
}

const STATEMENT = `
  select c.client_id, c.type, c.redirect_uris, c.requires_pkce, c.issues_refresh_tokens, c.consent,
    c.private_key_jwt is not null as has_key,
    (select count(*)::int from client_secrets s
     where s.client_id = c.client_id and s.expires_at is null) as endless_secrets,
    (select min(s.created_at) from client_secrets s
     where s.client_id = c.client_id and (s.expires_at is null or s.expires_at > $1)) as oldest_secret_at
  from clients c
  where c.disabled_at is null
  order by c.client_id`

type Row = {
  client_id: string
  type: ClientState['type']
  redirect_uris: string[]
  requires_pkce: boolean
  issues_refresh_tokens: boolean
  consent: ClientState['consent']
  has_key: boolean
  endless_secrets: number
  oldest_secret_at: Date | null
}

export async function readClientStates(database: Database, now: Date): Promise<readonly ClientState[]> {
  const rows = await database.query<Row>({ name: 'read_client_states', text: STATEMENT, values: [now] })
  return rows.map((row) => ({
    clientId: row.client_id,
    type: row.type,
    redirectUris: row.redirect_uris,
    requiresPkce: row.requires_pkce,
    issuesRefreshTokens: row.issues_refresh_tokens,
    consent: row.consent,
    hasKey: row.has_key,
    endlessSecrets: row.endless_secrets,
    oldestSecretAt: row.oldest_secret_at ?? undefined
  }))
}

/** The APIs of scopes and of credentials for introspection; an audience that is undefined is that of the default API. */
export type ApiState = {
  scopes: readonly { name: string; audience: string | undefined }[]
  audiences: readonly string[]
}

export async function readApiState(database: Database): Promise<ApiState> {
  const scopes = await database.query<{ name: string; audience: string | null }>({
    name: 'read_audiences_of_scopes',
    text: 'select name, audience from scopes order by name',
    values: []
  })
  const servers = await database.query<{ audience: string }>({
    name: 'read_registered_audiences',
    text: 'select distinct audience from resource_servers order by audience',
    values: []
  })
  return {
    scopes: scopes.map(({ name, audience }) => ({ name, audience: audience ?? undefined })),
    audiences: servers.map(({ audience }) => audience)
  }
}

/** Credentials that do not expire. */
export type CredentialState = {
  kind: 'resource server' | 'operator key'
  /** The client id, or the name of the operator key. */
  name: string
  createdAt: Date
}

export async function readCredentialStates(database: Database): Promise<readonly CredentialState[]> {
  const rows = await database.query<Omit<CredentialState, 'createdAt'> & { created_at: Date }>({
    name: 'read_credential_states',
    text: `select 'resource server' as kind, client_id as name, created_at from resource_servers
      union all
      select 'operator key', name, created_at from operator_keys where revoked_at is null
      order by kind, name`,
    values: []
  })
  return rows.map(({ created_at: createdAt, ...row }) => ({ ...row, createdAt }))
}
