import { type environmentReader, isLoopback } from '@valetkey/service-kit'
import {
  type HandoffSettings,
  type ProviderSettings,
  problemOfIssuer,
  readHandoffKeys,
  readMailbox,
  readProviders
} from '@valetkey/sign-in-rules'

type Reader = ReturnType<typeof environmentReader>

const DAY = 86_400
const MIB = 1024 * 1024

/** MiB for password hashes: the largest that an import accepts, and one of ours. With the rest of the process under 512 MiB. */
const PASSWORD_MEMORY = { most: 288, rest: 224, least: 32 }

/** MiB. @param limit bytes that the container allows this process, 0 or more than the machine has if it does not */
export function defaultPasswordMemory(limit = process.constrainedMemory() ?? 0): number {
  const { most, rest, least } = PASSWORD_MEMORY
  return limit === 0 ? most : Math.max(least, Math.min(most, Math.floor(limit / MIB) - rest))
}

/** The settings of the ways to sign in. Every mistake is reported; a provider that cannot be reached is none. */
export function readSignInConfig(read: Reader) {
  const account = readAccountConfig(read)
  const providers = readProviderList(read)
  const handoff = readHandoff(read, providers)
  read.require(
    account.local || providers.length > 0 || handoff !== undefined,
    'LOCAL_SIGN_IN',
    'is false, but neither SIGN_IN_PROVIDERS nor LOGIN_HANDOFF_URL is set: no user could sign in'
  )
  return {
    ...account,
    providers,
    handoff,
    proxy: providers.length > 0 ? readProxy(read) : undefined,
    securityMails: readSecurityMails(read, account),
    /** Shown on the sign-in page. */
    helpUrl: read.optionalUrl('SIGN_IN_HELP_URL', ['https:', 'http:']),
    /** Seconds; 0: off. A refresh is refused if the user has not signed in for that long. */
    atLeastEvery: read.integer('SIGN_IN_AT_LEAST_EVERY', 0, { min: 0, max: 3650 }) * DAY
  }
}

/** The settings of local accounts and mail, which the command line needs as well. */
export function readAccountConfig(read: Reader) {
  const smtpUrl = read.optionalSmtpUrl('SMTP_URL')
  const sender = read.optionalText('MAIL_FROM', '')
  const mailFrom = readMailbox(sender)
  read.require(smtpUrl === undefined || sender !== '', 'MAIL_FROM', 'is missing: the sender of mails by SMTP_URL')
  const rule = 'must be one address, such as no-reply@example.com or "Example" <no-reply@example.com>'
  read.require(sender === '' || mailFrom !== undefined, 'MAIL_FROM', rule)
  return {
    /** Whether users sign in with a password or a passkey. */
    local: read.oneOf('LOCAL_SIGN_IN', ['true', 'false'], 'true') === 'true',
    /** Characters (code points) of a new password (NIST SP 800-63B-4 §3.1.1.2). */
    passwordMinLength: read.integer('PASSWORD_MIN_LENGTH', 15, { min: 8, max: 64 }),
    /** Bytes of memory that password hashes take at once. */
    passwordMemory: read.integer('PASSWORD_MEMORY', defaultPasswordMemory(), { min: 32, max: 65_536 }) * MIB,
    /** The mail server, with user name and password if it needs them. */
    smtpUrl,
    mailFrom
  }
}

/** Whether users get mails about new access of apps and new ways to sign in. */
function readSecurityMails(read: Reader, { smtpUrl }: ReturnType<typeof readAccountConfig>): 'off' | 'on' {
  const value = read.oneOf('SECURITY_MAILS', ['off', 'on'], 'off')
  const hasServer = smtpUrl !== undefined || read.optionalText('SMTP_URL', '') !== ''
  read.require(
    value === 'off' || hasServer,
    'SECURITY_MAILS',
    'is on, but there is no mail server: set SMTP_URL and MAIL_FROM'
  )
  return value
}

function readProviderList(read: Reader): readonly ProviderSettings[] {
  const text = read.optionalText('SIGN_IN_PROVIDERS', '')
  if (text === '') return []
  const { providers, problems } = readProviders(text, isLoopback)
  for (const problem of problems) read.require(false, 'SIGN_IN_PROVIDERS', problem)
  return providers
}

/** Reads the proxy for requests to providers. As in other programs, the names in lower case count first. */
function readProxy(read: Reader): { url: string; exceptions: string } | undefined {
  const [lower, upper] = [read.optionalText('https_proxy', ''), read.optionalText('HTTPS_PROXY', '')]
  const url = lower || upper
  if (url === '') return undefined
  const isUrl = URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
  // The value may contain a password.
  read.require(isUrl, lower === '' ? 'HTTPS_PROXY' : 'https_proxy', 'must be an http or https URL')
  return { url, exceptions: read.optionalText('no_proxy', '') || read.optionalText('NO_PROXY', '') }
}

function readHandoff(read: Reader, providers: readonly ProviderSettings[]): HandoffSettings | undefined {
  const url = read.optionalUrl('LOGIN_HANDOFF_URL', ['https:', 'http:'])
  const issuer = read.optionalText('LOGIN_HANDOFF_ISSUER', '')
  const keysText = read.optionalText('LOGIN_HANDOFF_KEYS', '')
  const label = read.label('LOGIN_HANDOFF_LABEL', 'your account')
  const provisioning = read.oneOf('LOGIN_HANDOFF_PROVISIONING', ['deny', 'create'], 'deny')
  if (url === undefined) {
    const others = ['LOGIN_HANDOFF_ISSUER', 'LOGIN_HANDOFF_KEYS', 'LOGIN_HANDOFF_LABEL', 'LOGIN_HANDOFF_PROVISIONING']
    const isNoneSet = others.every((name) => read.optionalText(name, '') === '')
    read.require(isNoneSet, 'LOGIN_HANDOFF_URL', 'is missing: the address of the login page')
    return undefined
  }
  read.require(!/[?#]/.test(url), 'LOGIN_HANDOFF_URL', 'must have neither query nor fragment')
  read.require(issuer !== '', 'LOGIN_HANDOFF_ISSUER', 'is missing: iss of the assertions')
  const problem = issuer === '' ? undefined : problemOfIssuer(issuer)
  if (problem !== undefined) read.require(false, 'LOGIN_HANDOFF_ISSUER', problem)
  // Its assertions would sign in the users of that provider, and go around its gate.
  const isOfProvider = providers.some((provider) => provider.issuer === issuer)
  read.require(!isOfProvider, 'LOGIN_HANDOFF_ISSUER', 'is the issuer of a provider in SIGN_IN_PROVIDERS')
  const parsed = readHandoffKeys(keysText)
  if ('problem' in parsed) read.require(false, 'LOGIN_HANDOFF_KEYS', parsed.problem)
  return { url, issuer, label, keys: 'keys' in parsed ? parsed.keys : [], provisioning }
}
