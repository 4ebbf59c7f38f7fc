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
  scopes: readonly string[]
  provisioning: Provisioning
  /** Every claim must be equal to one of its values, or be an array that contains one. */
  require: Readonly<Record<string, readonly string[]>>
  /** Claim from which the name of a created user is made. */
  usernameClaim: string
  /** Longest time that a session lasts after a sign-in with this provider. */
  sessionHours: number
}

/** How Valetkey authenticates at the token endpoint of the provider. A file is read at start. */
type ProviderCredential =
  | { kind: 'secret'; value: string }
  | { kind: 'secret_file'; path: string }
  | { kind: 'private_key_file'; path: string }

const MEMBERS = [
  ...['id', 'label', 'issuer', 'client_id', 'client_secret', 'client_secret_file', 'private_key_file'],
  ...['scopes', 'provisioning', 'require', 'username_claim', 'session_hours']
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
  return {
    id,
    label: readText(element, 'label', report),
    issuer,
    clientId: readText(element, 'client_id', report),
    credential: readCredential(element, report),
    scopes: readScopes(element, report),
    provisioning: readProvisioning(element, report),
    require: readGate(element, report),
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

function readGate(element: Element, report: Report): ProviderSettings['require'] {
  const value = element.require ?? {}
  const isGate =
    isObject(value) &&
    Object.values(value).every(
      (values) => Array.isArray(values) && values.length > 0 && values.every((each) => typeof each === 'string')
    )
  if (isGate) return value as ProviderSettings['require']
  report('.require must be an object of claims, each with a list of texts: {"groups": ["staff"]}')
  return {}
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
