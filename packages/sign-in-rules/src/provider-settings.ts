import { type Gate, readGate } from './gate-settings.js'

/** What happens at the first sign-in of an identity that is linked to no user. */
export type Provisioning =
  /** The sign-in is refused: an operator, an invitation or the user must link the identity first. */
  | 'deny'
  /** A user is created. */
  | 'create'

/** An OpenID Connect provider that users may sign in with: one element of `SIGN_IN_PROVIDERS`. */
export type ProviderSettings = {
  /** Part of the redirect URI; unique. */
  id: string
  /** Name on the sign-in page. */
  label: string
  /** Issuer identifier (OpenID Connect Discovery 1.0 §3). */
  issuer: string
  clientId: string
  credential: ProviderCredential
  /** Undefined: by the credential and the metadata of the provider. */
  authMethod: AuthMethod | undefined
  /** Undefined: as the provider announces, otherwise its default, the query. */
  responseMode: ResponseMode | undefined
  scopes: readonly string[]
  provisioning: Provisioning
  /** Every claim must have one of its values. */
  require: Gate
  /** Claim from which the name of a created user is made. */
  usernameClaim: string
  /** Longest time that a session lasts after a sign-in with this provider. */
  sessionHours: number
}

/** Methods of client authentication (OpenID Connect Core 1.0 §9), by credential. The first is the default. */
const AUTH_METHODS = {
  secret: ['client_secret_basic', 'client_secret_post', 'client_secret_jwt'],
  private_key: ['private_key_jwt']
} as const

export type AuthMethod = (typeof AUTH_METHODS)[keyof typeof AUTH_METHODS][number]

const RESPONSE_MODES = ['query', 'form_post'] as const
export type ResponseMode = (typeof RESPONSE_MODES)[number]

/** How Valetkey authenticates at the token endpoint of the provider. A file is read at start. */
type ProviderCredential =
  | { kind: 'secret'; value: string }
  | { kind: 'secret_file'; path: string }
  | { kind: 'private_key_file'; path: string }

const MEMBERS = [
  'id',
  'label',
  'issuer',
  'client_id',
  'client_secret',
  'client_secret_file',
  'private_key_file',
  'token_endpoint_auth_method',
  'response_mode',
  'scopes',
  'provisioning',
  'require',
  'username_claim',
  'session_hours'
]
const CREDENTIALS = ['client_secret', 'client_secret_file', 'private_key_file'] as const
const MAX_SESSION_HOURS = 168

/**
 * Reads `SIGN_IN_PROVIDERS`, a JSON array. Values of secrets are in no problem.
 * @param isLoopback whether a host is this machine, where a connection without TLS cannot be read by others
 * @returns the providers, and one line for every mistake; the providers are usable only without mistakes
 */
export function readProviders(
  text: string,
  isLoopback: IsLoopback
): { providers: readonly ProviderSettings[]; problems: readonly string[] } {
  const problems: string[] = []
  const elements = parseArray(text)
  if (elements === undefined) return { providers: [], problems: ['is not a JSON array of objects'] }
  const providers = elements.map((element, index) => {
    const report = (problem: string): void => {
      problems.push(`[${index}]${problem}`)
    }
    return readProvider(element, report, isLoopback)
  })
  for (const [member, values] of [
    ['id', providers.map(({ id }) => id)],
    // One issuer with two client ids would be two providers for one identity.
    ['issuer', providers.map(({ issuer }) => issuer)]
  ] as const) {
    const repeated = values.find((value, index) => value !== '' && values.indexOf(value) !== index)
    if (repeated !== undefined) problems.push(`${member} ${repeated} appears twice`)
  }
  return { providers, problems }
}

type Element = Readonly<Record<string, unknown>>
type Report = (problem: string) => void
type IsLoopback = (hostname: string) => boolean

function parseArray(text: string): readonly Element[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isArray = Array.isArray(value) && value.every((each) => isObject(each))
    return isArray ? (value as readonly Element[]) : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Element {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readProvider(element: Element, report: Report, isLoopback: IsLoopback): ProviderSettings {
  for (const member of Object.keys(element)) if (!MEMBERS.includes(member)) report(`.${member} is not known`)
  const id = readText(element, 'id', report)
  if (id !== '' && (!/^[a-z0-9-]{1,32}$/.test(id) || id === 'handoff')) {
    report('.id must be 1 to 32 of a-z, 0-9 and -, and not handoff')
  }
  const issuer = readText(element, 'issuer', report)
  if (issuer !== '' && !isIssuer(issuer, isLoopback)) {
    report('.issuer must be an https URL without query and fragment; http is allowed on this machine only')
  }
  const clientId = readText(element, 'client_id', report)
  const credential = readCredential(element, report)
  const methods = AUTH_METHODS[credential.kind === 'private_key_file' ? 'private_key' : 'secret']
  return {
    id,
    label: readText(element, 'label', report),
    issuer,
    clientId,
    credential,
    authMethod: readChoice(element, 'token_endpoint_auth_method', methods, report),
    responseMode: readChoice(element, 'response_mode', RESPONSE_MODES, report),
    scopes: readScopes(element, report),
    provisioning: readProvisioning(element, report),
    require: readGate(element.require, { issuer, clientId }, report),
    usernameClaim: readText(element, 'username_claim', report, 'preferred_username'),
    sessionHours: readSessionHours(element, report)
  }
}

/** @param fallback for a missing member; without it, the member is required */
function readText(element: Element, member: string, report: Report, fallback?: string): string {
  const value = element[member] ?? fallback
  if (typeof value === 'string' && value !== '' && value.length <= 500 && !/\p{Cc}/u.test(value)) return value
  report(value === undefined ? `.${member} is missing` : `.${member} must be text of 1 to 500 characters`)
  return ''
}

function readCredential(element: Element, report: Report): ProviderCredential {
  const [given, ...more] = CREDENTIALS.filter((member) => element[member] !== undefined)
  if (given === undefined || more.length > 0) {
    report(` needs exactly one of ${CREDENTIALS.join(', ')}`)
    return { kind: 'secret', value: '' }
  }
  const value = readText(element, given, report)
  if (given === 'client_secret') return { kind: 'secret', value }
  return { kind: given === 'client_secret_file' ? 'secret_file' : 'private_key_file', path: value }
}

function readScopes(element: Element, report: Report): readonly string[] {
  const value = element.scopes ?? 'openid profile'
  const scopes = typeof value === 'string' ? value.split(' ').filter((scope) => scope !== '') : value
  const isList =
    Array.isArray(scopes) &&
    scopes.every((scope) => typeof scope === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
  if (isList && scopes.includes('openid')) return scopes
  report('.scopes must be a list of scopes with openid')
  return []
}

function readProvisioning(element: Element, report: Report): Provisioning {
  const value = element.provisioning ?? 'deny'
  if (value === 'deny' || value === 'create') return value
  report('.provisioning must be deny or create')
  return 'deny'
}

/** @returns undefined for a missing member, and after a report */
function readChoice<Choice extends string>(
  element: Element,
  member: string,
  choices: readonly Choice[],
  report: Report
): Choice | undefined {
  const value = element[member]
  const choice = choices.find((each) => each === value)
  if (value !== undefined && choice === undefined) report(`.${member} must be ${choices.join(' or ')}`)
  return choice
}

function readSessionHours(element: Element, report: Report): number {
  const value = element.session_hours ?? 12
  if (typeof value === 'number' && value > 0 && value <= MAX_SESSION_HOURS) return value
  report(`.session_hours must be a number above 0, at most ${MAX_SESSION_HOURS}`)
  return 12
}

function isIssuer(text: string, isLoopback: IsLoopback): boolean {
  if (!URL.canParse(text) || /[?#]/.test(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}
