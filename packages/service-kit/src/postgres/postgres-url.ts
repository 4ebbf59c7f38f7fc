import { readFileSync } from 'node:fs'

const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is
const TARGET = /([?&])target_session_attrs=([^&#]*)(&|$)/
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']
const FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * One URL for each server that a URL names, in libpq's form `postgres://user:password@one:5432,other:5432/name`. If there
 * are several, one is the primary at a time.
 */
export function postgresUrls(url: string): readonly string[] {
  const parts = PARTS.exec(url)
  if (parts === null) return [url]
  const [, protocol = '', user = '', hosts = '', rest = ''] = parts
  return hosts.split(',').map((host) => `${protocol}${user}${host}${verifying(withoutTarget(rest))}`)
}

/** The first problem of a URL, or undefined. Never quotes the URL, because it contains a password. */
export function problemOfPostgresUrl(url: string): string | undefined {
  const [, , , hosts = '', rest = ''] = PARTS.exec(url) ?? []
  if (hosts.includes(',') && hosts.split(',').some((host) => host === '')) return 'names a host that is empty'
  if (!postgresUrls(url).every((one) => URL.canParse(one)))
    return 'is not a URL (expected postgres:// or postgresql://…)'
  const target = TARGET.exec(rest)?.[2]
  if (target !== undefined && target !== 'read-write' && target !== 'primary') {
    return 'target_session_attrs must be read-write or primary'
  }
  const settings = new URLSearchParams(/\?.*$/s.exec(rest)?.[0])
  const mode = settings.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode)) return `sslmode must be one of ${SSL_MODES.join(', ')}`
  return FILES.map((name) => problemOfFile(name, settings.get(name))).find((problem) => problem !== undefined)
}

function problemOfFile(name: string, file: string | null): string | undefined {
  if (file === null) return undefined
  try {
    readFileSync(file)
    return undefined
  } catch {
    return `the file ${file}, named by ${name}, cannot be read`
  }
}

/** Removes `target_session_attrs`, which the driver does not know. */
function withoutTarget(rest: string): string {
  return rest.replace(TARGET, (_all, before: string, _value, after: string) => (after === '' ? '' : before))
}

/**
 * Every mode between `no-verify` and `verify-full` verifies certificate and name in today's driver. Writing `verify-full`
 * keeps it so in later versions, and avoids the driver's warning at each start.
 */
function verifying(rest: string): string {
  if (/[?&]uselibpqcompat=/.test(rest)) return rest
  return rest.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}
