import { problemOfCharacters } from './url-characters.js'

/** The options that a URL may have, with their values. Others are refused: the mail library would ignore or misread them. */
const OPTIONS: Readonly<Record<string, RegExp>> = {
  requireTLS: /^(true|false)$/,
  ignoreTLS: /^(true|false)$/,
  'tls.rejectUnauthorized': /^(true|false)$/,
  'tls.servername': /^[\w.-]+$/,
  'tls.minVersion': /^TLSv1\.[23]$/,
  /** The name of this machine in EHLO. */
  name: /^[\w.-]+$/,
  authMethod: /^(PLAIN|LOGIN|CRAM-MD5)$/
}

/** The first problem of the URL of a mail server, or undefined. Never quotes secret parts. */
export function problemOfSmtpUrl(value: string): string | undefined {
  if (!/^smtps?:\/\//i.test(value)) return 'must start with smtp:// or smtps://'
  const characters = problemOfCharacters(value)
  if (characters !== undefined) return characters
  if (!URL.canParse(value)) return 'is not a URL (expected smtp://… or smtps://…)'
  const url = new URL(value)
  if (url.hostname === '') return 'names no host'
  if (url.pathname !== '' && url.pathname !== '/') return 'has a path, which has no meaning'
  if ((url.username === '') !== (url.password === '')) return 'must have both user and password, or neither'
  return problemOfOptions(url)
}

function problemOfOptions({ protocol, searchParams }: URL): string | undefined {
  for (const [name, value] of searchParams) {
    const values = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined
    if (values === undefined) return unknown(name)
    if (searchParams.getAll(name).length > 1) return `has ${name} twice`
    if (!values.test(value)) return `has a value of ${name} that is not allowed`
  }
  const ignores = searchParams.get('ignoreTLS') === 'true'
  return ignores && (protocol === 'smtps:' || searchParams.get('requireTLS') === 'true')
    ? 'has ignoreTLS, and asks for TLS'
    : undefined
}

function unknown(name: string): string {
  if (name === 'secure') return 'has the unknown option secure: for TLS from the start, begin with smtps://'
  // A name with other characters may be a part of a password.
  return `has the unknown option ${/^[a-z.]{1,40}$/i.test(name) ? name : ''}`.trimEnd()
}
