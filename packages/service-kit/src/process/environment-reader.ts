import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { postgresUrls, problemOfPostgresUrl } from '../postgres/postgres-url.js'
import { problemOfRedisUrl } from '../redis/redis-url.js'
import { ipAddress } from '../server/client-address.js'

export type Environment = Readonly<Record<string, string | undefined>>
export type ListenAddress = { host: string; port: number }

/** Every problem of a configuration at once, one line each; a line names the variable and never a secret's value. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/**
 * Reads typed settings from environment variables. A variable `NAME` may instead be given as `NAME_FILE`, the path of a
 * file that holds the value (Docker and Kubernetes secrets). Problems are collected; `finish` throws them all together,
 * so the values handed out before it must not be used until it has returned.
 */
export function environmentReader(environment: Environment) {
  const problems: string[] = []

  function complain(name: string, problem: string): undefined {
    problems.push(`${name}: ${problem}`)
    return undefined
  }

  /** The raw value; an empty one counts as missing. */
  function raw(name: string): string | undefined {
    const direct = environment[name]
    const file = environment[`${name}_FILE`]
    if (direct && file) return complain(name, `is set twice, as ${name} and as ${name}_FILE`)
    if (direct) return direct
    if (!file) return undefined
    try {
      const content = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
      return content || complain(`${name}_FILE`, `the file ${file} is empty`)
    } catch {
      return complain(`${name}_FILE`, `the file ${file} cannot be read`)
    }
  }

  function required(name: string, meaning: string): string | undefined {
    const before = problems.length
    const value = raw(name)
    if (value === undefined && problems.length === before) return complain(name, `is missing: ${meaning}`)
    return value
  }

  function parsedUrl(name: string, value: string | undefined, protocols: readonly string[]): URL | undefined {
    if (value === undefined) return undefined
    const expected = protocols.map((protocol) => `${protocol}//`).join(' or ')
    if (!URL.canParse(value)) return complain(name, `is not a URL (expected ${expected}…)`)
    const starts = protocols.some((protocol) => value.toLowerCase().startsWith(`${protocol}//`))
    return starts ? new URL(value) : complain(name, `must start with ${expected}`)
  }

  return {
    /** Plain text; `meaning` completes the sentence "NAME is missing: …". */
    text: (name: string, meaning: string): string => required(name, meaning) ?? '',

    optionalText: (name: string, fallback: string): string => raw(name) ?? fallback,

    /** A public base URL: http or https, no trailing slash, query, fragment or userinfo. Kept byte for byte. */
    baseUrl(name: string, meaning: string): string {
      const value = required(name, meaning)
      const url = parsedUrl(name, value, ['https:', 'http:'])
      if (value === undefined || url === undefined) return 'http://invalid'
      if (value.endsWith('/') || /[?#]/.test(value) || url.username !== '' || url.password !== '') {
        complain(name, 'must be a base URL without trailing slash, query, fragment and user name')
      } else if (value !== url.href && `${value}/` !== url.href) {
        complain(name, `must be written in its normal form, ${url.href.replace(/\/$/, '')}`)
      } else if (!/^[\w.~/-]*$/.test(url.pathname)) {
        // Routes are made of it, and other characters mean something in their patterns.
        complain(name, 'may have only letters, digits, -, ., _ and ~ in its path')
      }
      return value
    },

    /** A URL with one of the protocols, each with its colon (`postgres:`). May hold a password, so it is never quoted. */
    url(name: string, protocols: readonly string[], meaning: string): string {
      const value = required(name, meaning)
      parsedUrl(name, value, protocols)
      return value ?? ''
    },

    /** A Postgres database, on one server or on several of which one is the primary. */
    postgresUrl(name: string, meaning: string): string {
      const value = required(name, meaning)
      if (value === undefined) return ''
      const isPostgres = parsedUrl(name, postgresUrls(value)[0], ['postgres:', 'postgresql:']) !== undefined
      const problem = isPostgres ? problemOfPostgresUrl(value) : undefined
      if (problem !== undefined) complain(name, problem)
      return value
    },

    /** A Redis server, or the Sentinels that know it. */
    redisUrl(name: string, meaning: string): string {
      const value = required(name, meaning)
      const problem = value === undefined ? undefined : problemOfRedisUrl(value)
      if (problem !== undefined) complain(name, problem)
      return value ?? ''
    },

    optionalUrl(name: string, protocols: readonly string[]): string | undefined {
      const value = raw(name)
      parsedUrl(name, value, protocols)
      return value
    },

    /** A whole number within bounds, both included. */
    integer(name: string, fallback: number, bounds: { min: number; max: number }): number {
      const value = raw(name)
      if (value === undefined) return fallback
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      if (number >= bounds.min && number <= bounds.max) return number
      complain(name, `must be a whole number from ${bounds.min} to ${bounds.max}`)
      return fallback
    },

    /** A number above zero, fractions allowed. */
    factor(name: string, fallback: number): number {
      const value = raw(name)
      if (value === undefined) return fallback
      if (/^\d{1,9}(\.\d{1,9})?$/.test(value) && Number(value) > 0) return Number(value)
      complain(name, 'must be a number above 0, such as 1 or 0.5')
      return fallback
    },

    /** `host:port`, `[::1]:port` or `:port` (all interfaces). */
    listen(name: string, fallback: string): ListenAddress {
      const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/.exec(raw(name) ?? fallback)
      const port = Number(match?.[3])
      if (match === null || port > 65535) {
        complain(name, 'must be host:port, for example 127.0.0.1:4000 or :4000')
        return { host: '', port: 0 }
      }
      return { host: match[1] || match[2] || '0.0.0.0', port }
    },

    oneOf<Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
      const value = raw(name)
      if (value === undefined) return fallback
      const found = choices.find((choice) => choice === value)
      if (found === undefined) complain(name, `must be one of ${choices.join(', ')}`)
      return found ?? fallback
    },

    /** A list separated by commas or white space; missing means empty. */
    list: (name: string): readonly string[] => (raw(name) ?? '').split(/[\s,]+/).filter((item) => item !== ''),

    /** Addresses or networks (`10.0.0.0/8`), separated like a list; `none` is an empty list, and missing undefined. */
    networks(name: string): readonly string[] | undefined {
      const value = raw(name)?.trim()
      if (value === 'none') return []
      const networks = (value ?? '').split(/[\s,]+/).filter((item) => item !== '')
      if (networks.length === 0) return undefined
      const wrong = networks.find((network) => !isNetwork(network))
      if (wrong !== undefined) complain(name, `${JSON.stringify(wrong)} is neither an address nor a network`)
      return networks
    },

    /** Signing keys, newest first, separated by commas or white space, each of at least 32 characters. */
    keys(name: string, meaning: string): readonly string[] {
      const value = required(name, meaning)
      const keys = (value ?? '').split(/[\s,]+/).filter((key) => key !== '')
      if (value !== undefined && keys.length === 0) complain(name, 'holds no key')
      if (keys.some((key) => key.length < 32)) complain(name, 'every key must have at least 32 characters')
      return keys
    },

    /** A rule that spans several variables; the message names the variable first. */
    require(condition: boolean, name: string, problem: string): void {
      if (!condition) complain(name, problem)
    },

    /** @throws {ConfigurationError} when anything was wrong */
    finish(): void {
      if (problems.length > 0) throw new ConfigurationError(problems)
    }
  }
}

function isNetwork(text: string): boolean {
  // A prefix of 0 would trust everybody.
  const [, address = '', prefix = '1'] = /^([^/%]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const family = isIP(address)
  // IPv4 in IPv6: a single address has the same meaning in both spellings, a network has another prefix.
  if (family === 6 && isIP(ipAddress(address) ?? '') === 4) return prefix === '1'
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128)
}
