import { LONGEST } from '../use-cases/client-settings.js'
import { object, text, time } from './response-schemas.js'

const flag = (description: string) => ({ type: 'boolean', description }) as const
const seconds = (description: string) => ({ type: 'integer', description }) as const

/** Null selects the server's value. */
const lifetime = (description: string, longest: number) =>
  ({ description, anyOf: [{ type: 'integer', minimum: 1, maximum: longest }, { type: 'null' }] }) as const

const redirectUris = {
  type: 'array',
  minItems: 1,
  maxItems: 100,
  items: { type: 'string' },
  description: 'Redirect URIs, compared as complete strings.'
} as const

const settings = {
  name: text('The name on the consent page; 1 to 100 characters.'),
  redirect_uris: redirectUris,
  scope: text('Required scopes, separated by spaces.'),
  optional_scope: text('Scopes that the user may decline, separated by spaces.'),
  resources: {
    type: 'array',
    maxItems: 100,
    items: { type: 'string' },
    description: 'APIs that it is limited to, by name or audience of a resource server; empty: those of its scopes.'
  },
  refresh: flag('Whether the client gets refresh tokens.'),
  require_pkce: flag('Whether a code_challenge is required; always true for a public client.'),
  consent: { type: 'string', enum: ['ask', 'remember'], description: 'Ask every time, or only for new scopes.' },
  verified: flag(
    'Whether an operator has verified who runs the client. A change of name, publisher or home page ends it, unless the same request sets it.'
  ),
  home_page: text('Address of the app’s home page; https. Empty: none.'),
  publisher: text('Who runs the app; up to 80 characters. Empty: none.'),
  privacy_policy: text('Address of its privacy policy; https. Empty: none.'),
  terms: text('Address of its terms; https. Empty: none.')
} as const

const lifetimes = {
  access_token_ttl: lifetime('Seconds; at most the server’s value.', LONGEST.accessTokenTtl),
  refresh_token_idle_ttl: lifetime('Seconds between two uses.', LONGEST.refreshTokenIdleTtl),
  refresh_token_max_ttl: lifetime('Seconds from the exchange of the code.', LONGEST.refreshTokenMaxTtl)
} as const

const type = {
  type: 'string',
  enum: ['confidential', 'public'],
  description: 'RFC 6749 §2.1; cannot be changed.'
} as const

export type ClientBody = {
  name?: string
  redirect_uris?: readonly string[]
  scope?: string
  optional_scope?: string
  resources?: readonly string[]
  refresh?: boolean
  require_pkce?: boolean
  consent?: string
  verified?: boolean
  home_page?: string
  publisher?: string
  privacy_policy?: string
  terms?: string
  access_token_ttl?: number | null
  refresh_token_idle_ttl?: number | null
  refresh_token_max_ttl?: number | null
}

const OPTIONAL = ['scope', 'optional_scope', 'resources', 'refresh', 'require_pkce', 'consent', 'verified'] as const
const BRANDING = ['home_page', 'publisher', 'privacy_policy', 'terms'] as const
const LIFETIMES = ['access_token_ttl', 'refresh_token_idle_ttl', 'refresh_token_max_ttl'] as const

/** The defaults are those of the command line: confidential, with refresh tokens, consent every time. */
export const clientToCreate = object({ ...settings, type, ...lifetimes }, [
  ...OPTIONAL,
  ...BRANDING,
  'type',
  ...LIFETIMES
])

/** Omitted members stay unchanged (as in RFC 7396). */
export const clientToUpdate = object({ ...settings, ...lifetimes }, [
  'name',
  'redirect_uris',
  ...OPTIONAL,
  ...BRANDING,
  ...LIFETIMES
])

/** Also a filter of the list. */
export const origin = {
  type: 'string',
  enum: ['registered', 'discovered', 'developer'],
  description:
    'Registered by an operator; described by the document at its client id and allowed by a user; registered by a user.'
} as const

const clientMembers = {
  client_id: text('The client id; for a discovered client the URL of its metadata document.'),
  origin,
  ...settings,
  type,
  access_token_ttl: seconds('Absent if the server’s value applies.'),
  refresh_token_idle_ttl: seconds('Absent if the server’s value applies.'),
  refresh_token_max_ttl: seconds('Absent if the server’s value applies.'),
  logo: text(
    'SHA-256 of the logo, which is at {issuer}/logos/HASH.png if the client is published; absent without one.'
  ),
  disabled: flag('A disabled client cannot get or use tokens.'),
  created_at: time('UTC.')
} as const

const ABSENT = [...BRANDING, 'logo', ...LIFETIMES] as const

export const client = object(clientMembers, ABSENT)

export const createdClient = object(
  {
    ...clientMembers,
    client_secret: text('Shown only once; absent for a public client.'),
    secret_id: text('The id in audit events: the first 12 hexadecimal digits of the secret’s SHA-256.')
  },
  [...ABSENT, 'client_secret', 'secret_id']
)

export const clientSecret = object(
  {
    secret_id: text('The id in audit events: the first 12 hexadecimal digits of the secret’s SHA-256.'),
    live: flag('Whether the secret is valid now.'),
    created_at: time('UTC.'),
    expires_at: time('Absent if the secret does not expire.'),
    last_used_at: time('Accurate to a few minutes; absent if never used.')
  },
  ['expires_at', 'last_used_at']
)
