import { problemOfCharacters } from '../process/url-characters.js'
import { driverParameters, problemOfParameters } from './postgres-parameters.js'

const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)([^?]*)\??(.*)$/is

/**
 * One URL for each server that a URL names, in libpq's form `postgres://user:password@one:5432,other:5432/name`. If there
 * are several, one is the primary at a time.
 */
export function postgresUrls(url: string): readonly string[] {
  const parts = PARTS.exec(url)
  if (parts === null) return [url]
  const [, protocol = '', user = '', hosts = '', path = '', query = ''] = parts
  const options = driverParameters(new URLSearchParams(query)).toString()
  return hosts.split(',').map((host) => `${protocol}${user}${host}${path}${options && `?${options}`}`)
}

/** The first problem of a URL, or undefined. Never quotes user names and passwords. */
export function problemOfPostgresUrl(url: string): string | undefined {
  const parts = PARTS.exec(url)
  if (parts === null)
    return `${URL.canParse(url) ? 'must start with' : 'is not a URL: expected'} postgres:// or postgresql://`
  const characters = problemOfCharacters(url)
  if (characters !== undefined) return characters
  const [, , user = '', hosts = '', , query = ''] = parts
  if (hosts.includes(',') && hosts.split(',').some((host) => host === '')) return 'names a host that is empty'
  if (!postgresUrls(url).every((one) => URL.canParse(one)))
    return 'is not a URL (expected postgres:// or postgresql://…)'
  return problemOfParameters(new URLSearchParams(query), { user, hosts })
}
