import { LONGEST } from '../use-cases/client-settings.js'
import { object, text, time } from './answer-schemas.js'

const flag = (description: string) => ({ type: 'boolean', description }) as const
const seconds = (description: string) => ({ type: 'integer', description }) as const

/** Null is for the server's own. */
const lifetime = (description: string, longest: number) =>
  ({ description, anyOf: [{ type: 'integer', minimum: 1, maximum: longest }, { type: 'null' }] }) as const

const redirectUris = {
  type: 'array',
  minItems: 1,
  maxItems: 100,
  items: { type: 'string' },
  description: 'Where answers may go, each compared as a whole.'
} as const

const settings = {
  name: text('What people read on the consent page; 1 to 100 characters.'),
  redirect_uris: redirectUris,
  scope: text('Required scopes, separated by blanks.'),
  optional_scope: text('Scopes that a person can leave out, separated by blanks.'),
  refresh: flag('Whether it gets refresh tokens.'),
  require_pkce: flag('Whether it has to bring a code_challenge; a public client always has.'),
  consent: { type: 'string', enum: ['ask', 'remember'], description: 'Ask each time, or for new scopes only.' },
  verified: flag('Whether an operator has made sure who runs it.')
} as const

const lifetimes = {
  access_token_ttl: lifetime('Seconds; what is longer than the server’s is the server’s.', LONGEST.accessTokenTtl),
  refresh_token_idle_ttl: lifetime('Seconds without use.', LONGEST.refreshTokenIdleTtl),
  refresh_token_max_ttl: lifetime('Seconds since the exchange of the code.', LONGEST.refreshTokenMaxTtl)
} as const

const type = {
  type: 'string',
  enum: ['confidential', 'public'],
  description: 'Whether it can keep a secret; never changes.'
} as const

export type ClientBody = {
  name?: string
  redirect_uris?: readonly string[]
  scope?: string
  optional_scope?: string
  refresh?: boolean
  require_pkce?: boolean
  consent?: string
  verified?: boolean
  access_token_ttl?: number | null
  refresh_token_idle_ttl?: number | null
  refresh_token_max_ttl?: number | null
}

const OPTIONAL = ['scope', 'optional_scope', 'refresh', 'require_pkce', 'consent', 'verified'] as const
const LIFETIMES = ['access_token_ttl', 'refresh_token_idle_ttl', 'refresh_token_max_ttl'] as const

/** What stays out is as on the command line: confidential, refreshed, asked each time. */
export const clientToCreate = object({ ...settings, type, ...lifetimes }, [...OPTIONAL, 'type', ...LIFETIMES])

/** What stays out stays as it is (RFC 7396, as far as it goes here). */
export const clientToUpdate = object({ ...settings, ...lifetimes }, [
  'name',
  'redirect_uris',
  ...OPTIONAL,
  ...LIFETIMES
])

const clientMembers = {
  client_id: text('Its id.'),
  ...settings,
  type,
  access_token_ttl: seconds('Absent where the server’s own counts.'),
  refresh_token_idle_ttl: seconds('Absent where the server’s own counts.'),
  refresh_token_max_ttl: seconds('Absent where the server’s own counts.'),
  disabled: flag('A disabled client is refused.'),
  created_at: time('UTC.')
} as const

export const client = object(clientMembers, LIFETIMES)

export const createdClient = object(
  {
    ...clientMembers,
    client_secret: text('Shown this once only; a public client has none.'),
    secret_id: text('What audit events call it: the first 12 hexadecimal digits of its SHA-256.')
  },
  [...LIFETIMES, 'client_secret', 'secret_id']
)

export const clientSecret = object(
  {
    secret_id: text('What audit events call it: the first 12 hexadecimal digits of its SHA-256.'),
    live: flag('Whether it is accepted now.'),
    created_at: time('UTC.'),
    expires_at: time('Absent if it has no end.'),
    last_used_at: time('To within some minutes; absent if it never was.')
  },
  ['expires_at', 'last_used_at']
)
