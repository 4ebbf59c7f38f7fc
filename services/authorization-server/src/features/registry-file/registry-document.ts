import { Ajv, type ErrorObject } from 'ajv'
import { DPOP_OF_APIS } from '../../operator/use-cases/administer-resource-servers.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import {
  type ClientSettings,
  type GivenMembers,
  membersOfKind,
  settingsOfMembers
} from '../../operator/use-cases/client-members.js'
import { withSettingsOfProfile } from '../../operator/use-cases/client-profile.js'
import type { TitleIn } from '../../storage/postgres/resource-servers.js'
import { upToMost } from './mistakes.js'

/**
 * The clients, scopes and resource servers of an installation, as `valetkey export` writes them and `valetkey apply` reads
 * them. An omitted member has the default of the command `create`. A kind that is missing altogether is left alone.
 */
export type RegistryDocument = {
  resource_servers?: readonly ResourceServerEntry[]
  scopes?: readonly ScopeEntry[]
  clients?: readonly ClientEntry[]
}

export type ResourceServerEntry = {
  client_id: string
  name: string
  audience: string
  title?: string
  /** The title by language tag. */
  title_in?: TitleIn
  /** One of `DPOP_OF_APIS`. */
  dpop?: string
}

export type ScopeEntry = {
  name: string
  title: string
  description?: string
  translations?: Readonly<Record<string, { title?: string; description?: string }>>
  /** Name or audience of a resource server; omitted for the default API. */
  resource?: string
  default?: boolean
  discoverable?: boolean
  self_service?: boolean
  selects?: boolean
}

export type ClientEntry = GivenMembers & {
  client_id: string
  name: string
  redirect_uris: readonly string[]
  type?: 'confidential' | 'public'
  /** Omitted: left as it is, so that no file enables a client that an operator disabled. */
  disabled?: boolean
}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const texts = { type: 'array', items: text } as const
const seconds = { type: 'integer' } as const
const textByLanguage = { type: 'object', additionalProperties: text } as const

function entries<Properties extends Record<string, object>>(properties: Properties, required: (keyof Properties)[]) {
  const items = { type: 'object', properties, required, additionalProperties: false }
  return { type: 'array', items } as const
}

const translations = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    properties: { title: text, description: text },
    additionalProperties: false
  }
} as const

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    resource_servers: entries(
      {
        client_id: text,
        name: text,
        audience: text,
        title: text,
        title_in: textByLanguage,
        dpop: { enum: DPOP_OF_APIS }
      },
      ['client_id', 'name', 'audience']
    ),
    scopes: entries(
      {
        name: text,
        title: text,
        description: text,
        translations,
        resource: text,
        default: flag,
        discoverable: flag,
        self_service: flag,
        selects: flag
      },
      ['name', 'title']
    ),
    clients: entries(
      {
        client_id: text,
        ...membersOfKind(['name', 'texts', 'scopes'], ({ kind }) => (kind === 'texts' ? texts : text)),
        type: { enum: ['confidential', 'public'] },
        ...membersOfKind(['choice'], ({ choices }) => ({ enum: choices })),
        ...membersOfKind(['text', 'url'], () => text),
        ...membersOfKind(['flag'], () => flag),
        disabled: flag,
        ...membersOfKind(['seconds'], () => seconds),
        ...membersOfKind(['method'], ({ choices }) => ({ enum: choices })),
        ...membersOfKind(['keys'], () => ({ type: 'object' })),
        ...membersOfKind(['key_uri'], () => text)
      },
      ['client_id', 'name', 'redirect_uris']
    )
  }
} as const

/**
 * Validates the members and types of a document. Values are validated by the use cases.
 * @throws {AdministrationError} `invalid`, with a line for each mistake, which has its place
 */
export function readRegistryDocument(given: unknown): RegistryDocument {
  if (given === null) throw invalid(['the document is empty'])
  const value = withoutExtensions(given)
  const validate = new Ajv({ allErrors: true }).compile<RegistryDocument>(schema)
  if (!validate(value)) throw invalid(validate.errors?.map(describe) ?? [])
  const { resource_servers: servers = [], scopes = [], clients = [] } = value
  const repeated = [
    ...repetitionsIn('resource_servers', 'client_id', servers),
    ...repetitionsIn('scopes', 'name', scopes),
    ...repetitionsIn('clients', 'client_id', clients)
  ]
  if (repeated.length > 0) throw invalid(repeated)
  return value
}

/** Leaves out the members `x-…` of the document and its entries, which hold what other members refer to, or notes. */
function withoutExtensions(document: unknown): unknown {
  return mapMembers(document, (list) => (Array.isArray(list) ? list.map((entry) => mapMembers(entry)) : list))
}

function mapMembers(value: unknown, change: (member: unknown) => unknown = (member) => member): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept = Object.entries(value).filter(([name]) => !name.startsWith('x-'))
  return Object.fromEntries(kept.map(([name, member]) => [name, change(member)]))
}

/** What `valetkey clients create` has for a member that an entry omits. */
const OMITTED: GivenMembers = {
  ...membersOfKind(['texts'], () => []),
  ...membersOfKind(['scopes', 'text', 'url'], () => ''),
  ...membersOfKind(['flag'], ({ initial }) => initial),
  ...membersOfKind(['choice'], ({ initial }) => initial),
  ...membersOfKind(['seconds'], () => null)
}

/** Every setting of a client except its logo, with the defaults of `valetkey clients create` for omitted members. */
export function settingsOf(entry: ClientEntry): ClientSettings {
  const { type = 'confidential' } = entry
  const isPublic = type === 'public'
  const ofType = { require_pkce: isPublic, auth_method: isPublic ? 'none' : 'client_secret' }
  const settings = settingsOfMembers({ ...OMITTED, ...ofType, ...entry })
  return { ...settings, ...withSettingsOfProfile(settingsOfMembers(entry), type) }
}

function repetitionsIn<Member extends string>(
  kind: string,
  member: Member,
  entries: readonly Record<Member, string>[]
): string[] {
  const seen = new Set<string>()
  return entries.flatMap(({ [member]: id }, index) => {
    const isRepeated = seen.has(id)
    seen.add(id)
    return isRepeated ? [`${kind}[${index}].${member}: ${id} is listed twice`] : []
  })
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'a mapping',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  integer: 'a whole number'
}

/** Returns a text such as "clients[3]: has no member name". */
function describe({ keyword, instancePath, message, params }: ErrorObject): string {
  const place = toPlace(instancePath)
  switch (keyword) {
    case 'type':
      return `${place}: must be ${TYPE_NAMES[params.type]}`
    case 'required':
      return `${place}: has no member ${params.missingProperty}`
    case 'additionalProperties':
      return `${place}: has an unknown member: ${params.additionalProperty}`
    case 'enum':
      return `${place}: must be one of ${params.allowedValues.join(', ')}`
    default:
      return `${place}: ${message}`
  }
}

/** Returns `clients[3].redirect_uris[0]` for the JSON pointer `/clients/3/redirect_uris/0`. */
function toPlace(pointer: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const place = parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('')
  return place === '' ? 'the document' : place.slice(1)
}

function invalid(lines: readonly string[]): AdministrationError {
  return new AdministrationError('invalid', upToMost(lines).join('\n'))
}
