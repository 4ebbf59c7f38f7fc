import { type SettingOfKind, settingsOfKind } from '../../storage/client-settings-table.js'
import { membersOfKind } from '../use-cases/client-members.js'
import { object, text, time } from './response-schemas.js'

const flag = (description: string) => ({ type: 'boolean', description }) as const
const seconds = (description: string) => ({ type: 'integer', description }) as const

/** A key may have members of other specifications (RFC 7517 §4). */
const jwkSet = (description: string) => {
  const keys = { type: 'array', items: { type: 'object', additionalProperties: true } }
  return { type: 'object', description, required: ['keys'], properties: { keys } } as const
}

/** Null selects the server's value. */
const lifetime = (description: string, longest: number) =>
  ({ description, anyOf: [{ type: 'integer', minimum: 1, maximum: longest }, { type: 'null' }] }) as const

const KINDS = ['name', 'texts', 'scopes', 'flag', 'choice', 'text', 'url', 'method', 'keys', 'key_uri'] as const

/** What a request can set, except lifetimes. */
const settings = membersOfKind(KINDS, settingSchema)

function settingSchema(setting: SettingOfKind<(typeof KINDS)[number]>) {
  const { description } = setting
  switch (setting.kind) {
    case 'texts': {
      const least = 'isRequired' in setting && { minItems: 1 }
      return { type: 'array', ...least, maxItems: 100, items: { type: 'string' }, description }
    }
    case 'flag':
      return flag(description)
    case 'choice':
    case 'method':
      return { type: 'string', enum: setting.choices, description }
    case 'name':
    case 'scopes':
    case 'text':
    case 'url':
    case 'key_uri':
      return text(description)
    case 'keys':
      return jwkSet(description)
  }
}

const lifetimes = membersOfKind(['seconds'], ({ description, most }) => lifetime(description, most))

const type = {
  type: 'string',
  enum: ['confidential', 'public'],
  description: 'RFC 6749 §2.1; cannot be changed.'
} as const

const SETTABLE = settingsOfKind(...KINDS, 'seconds')
const OPTIONAL = SETTABLE.filter((setting) => !('isRequired' in setting)).map(({ member }) => member)

/** The defaults are those of the command line: confidential, with refresh tokens, consent every time. */
export const clientToCreate = object({ ...settings, type, ...lifetimes }, [...OPTIONAL, 'type'])

/** Omitted members stay unchanged (as in RFC 7396). */
export const clientToUpdate = object(
  { ...settings, ...lifetimes },
  SETTABLE.map(({ member }) => member)
)

/** The origin is also a filter of the list. */
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
  ...membersOfKind(['seconds'], () => seconds('Absent if the server’s value applies.')),
  ...membersOfKind(['logo'], ({ description }) => text(description)),
  disabled: flag('A disabled client cannot get or use tokens.'),
  created_at: time('UTC.')
} as const

const ABSENT = settingsOfKind('text', 'url', 'logo', 'seconds', 'method', 'keys', 'key_uri').map(({ member }) => member)

export const client = object(clientMembers, ABSENT)

export const createdClient = object(
  {
    ...clientMembers,
    client_secret: text('Shown only once; absent for a public client.'),
    secret_id: text('The id in audit events: the first 12 hexadecimal digits of the secret’s SHA-256.')
  },
  [...ABSENT, 'client_secret', 'secret_id']
)

const secretMembers = {
  secret_id: text('The id in audit events: the first 12 hexadecimal digits of the secret’s SHA-256.'),
  live: flag('Whether the secret is valid now.'),
  created_at: time('UTC.'),
  expires_at: time('Absent if the secret does not expire.'),
  last_used_at: time('Accurate to a few minutes; absent if never used.')
} as const
const SECRET_OPTIONAL = ['expires_at', 'last_used_at'] as const

export const clientSecret = object(secretMembers, SECRET_OPTIONAL)
export const secretOfClient = object(
  { client_id: text('The client id.'), client_name: text('The name of the client.'), ...secretMembers },
  SECRET_OPTIONAL
)
