import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { ipAddress } from '../server/client-address.js'
import { problemOfWebAddress, readListenAddress } from './addresses.js'
import { decodeText } from './decode-text.js'
import { storeUrlSettings } from './store-url-settings.js'

export type Environment = Readonly<Record<string, string | undefined>>
type ListenAddress = { host: string; port: number }

/** All problems of a configuration, one line each. A line names the variable, and never the value of a secret. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/**
 * Reads typed settings from environment variables. Instead of `NAME`, the variable `NAME_FILE` may have the path of a file
 * with the value (Docker and Kubernetes secrets). Problems are collected, and `finish` throws all of them; values must not
 * be used before it has returned.
 */
export function environmentReader(environment: Environment) {
  const problems: string[] = []
  const variables = variableReader(environment, problems)
  return {
    ...textSettings(variables),
    ...urlSettings(variables),
    ...storeUrlSettings(variables),
    ...numberSettings(variables),
    ...listSettings(variables),

    /** A rule about several variables; the message begins with the name of the first. */
    require(condition: boolean, name: string, problem: string): void {
      if (!condition) variables.report(name, problem)
    },

    /** @throws {ConfigurationError} if there was any problem */
    finish(): void {
      if (problems.length > 0) throw new ConfigurationError(problems)
    }
  }
}

type Variables = ReturnType<typeof variableReader>

function variableReader(environment: Environment, problems: string[]) {
  function report(name: string, problem: string): undefined {
    problems.push(`${name}: ${problem}`)
    return undefined
  }

  /** The value as text; an empty one counts as missing. */
  function raw(name: string): string | undefined {
    const direct = environment[name]
    const file = environment[`${name}_FILE`]
    if (direct && file) return report(name, `is set twice, as ${name} and as ${name}_FILE`)
    // Node puts this character in the place of bytes that are no UTF-8.
    if (direct?.includes('\ufffd')) return report(name, 'is not UTF-8')
    if (direct) return direct
    if (!file) return undefined
    try {
      const decoded = decodeText(readFileSync(file))
      if ('problem' in decoded) return report(`${name}_FILE`, `the file ${file} ${decoded.problem}`)
      const content = decoded.text.replace(/\r?\n$/, '')
      return content || report(`${name}_FILE`, `the file ${file} is empty`)
    } catch {
      return report(`${name}_FILE`, `the file ${file} cannot be read`)
    }
  }

  function required(name: string, meaning: string): string | undefined {
    const before = problems.length
    const value = raw(name)
    if (value === undefined && problems.length === before) return report(name, `is missing: ${meaning}`)
    return value
  }

  return { report, raw, required }
}

function textSettings({ report, raw, required }: Variables) {
  return {
    /** `meaning` completes the sentence "NAME is missing: …". */
    text: (name: string, meaning: string): string => required(name, meaning) ?? '',

    /** A name that pages and mails show. */
    label(name: string, fallback: string): string {
      const value = raw(name) ?? fallback
      const isShown = value.length <= 100 && value.trim() !== '' && !/\p{Cc}/u.test(value)
      if (!isShown) report(name, 'must be text of 1 to 100 characters, without control characters')
      return value
    },

    optionalText: (name: string, fallback: string): string => raw(name) ?? fallback,

    oneOf<Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
      const value = raw(name)
      if (value === undefined) return fallback
      const found = choices.find((choice) => choice === value)
      if (found === undefined) report(name, `must be one of ${choices.join(', ')}`)
      return found ?? fallback
    }
  }
}

function urlSettings({ report, raw, required }: Variables) {
  function parse(name: string, value: string | undefined, protocols: readonly string[]): URL | undefined {
    if (value === undefined) return undefined
    const expected = protocols.map((protocol) => `${protocol}//`).join(' or ')
    if (!URL.canParse(value)) return report(name, `is not a URL (expected ${expected}…)`)
    const starts = protocols.some((protocol) => value.toLowerCase().startsWith(`${protocol}//`))
    return starts ? new URL(value) : report(name, `must start with ${expected}`)
  }

  function parseAddress(name: string, value: string | undefined, protocols: readonly string[]): void {
    const url = parse(name, value, protocols)
    const problem = value === undefined || url === undefined ? undefined : problemOfWebAddress(value, url)
    if (problem !== undefined) report(name, problem)
  }

  return {
    /** A public base URL: http or https, without trailing slash, query, fragment and user name. Returned unchanged. */
    baseUrl(name: string, meaning: string): string {
      const value = required(name, meaning)
      const url = parse(name, value, ['https:', 'http:'])
      if (value === undefined || url === undefined) return 'http://invalid'
      if (value.endsWith('/') || /[?#]/.test(value) || url.username !== '' || url.password !== '') {
        report(name, 'must be a base URL without trailing slash, query, fragment and user name')
      } else if (value !== url.href && `${value}/` !== url.href) {
        report(name, `must be written in its normal form, ${url.href.replace(/\/$/, '')}`)
      } else if (!/^[\w.~/-]*$/.test(url.pathname)) {
        // The path becomes part of route patterns, in which other characters are special.
        report(name, 'may have only letters, digits, -, ., _ and ~ in its path')
      }
      return value
    },

    /** @param protocols with the colon (`postgres:`). The URL may contain a password, so it is never quoted. */
    url(name: string, protocols: readonly string[], meaning: string): string {
      const value = required(name, meaning)
      parseAddress(name, value, protocols)
      return value ?? ''
    },

    optionalUrl(name: string, protocols: readonly string[]): string | undefined {
      const value = raw(name)
      parseAddress(name, value, protocols)
      return value
    }
  }
}

function numberSettings({ report, raw }: Variables) {
  return {
    /** A whole number; both bounds are included. */
    integer(name: string, fallback: number, bounds: { min: number; max: number }): number {
      const value = raw(name)
      if (value === undefined) return fallback
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      if (number >= bounds.min && number <= bounds.max) return number
      report(name, `must be a whole number from ${bounds.min} to ${bounds.max}`)
      return fallback
    },

    /** A number above zero, with or without a fraction. */
    factor(name: string, fallback: number): number {
      const value = raw(name)
      if (value === undefined) return fallback
      if (/^\d{1,9}(\.\d{1,9})?$/.test(value) && Number(value) > 0) return Number(value)
      report(name, 'must be a number above 0, such as 1 or 0.5')
      return fallback
    },

    /** `host:port`, `[::1]:port` or `:port` (all interfaces). */
    listen(name: string, fallback: string): ListenAddress {
      const address = readListenAddress(raw(name) ?? fallback)
      if (address === undefined) report(name, 'must be host:port, for example 127.0.0.1:4000 or :4000')
      return address ?? { host: '', port: 0 }
    }
  }
}

/** Items are separated by commas or white space. */
function listSettings({ report, raw, required }: Variables) {
  const split = (value: string | undefined) => (value ?? '').split(/[\s,]+/).filter((item) => item !== '')
  return {
    /** Empty if the variable is missing. */
    list: (name: string): readonly string[] => split(raw(name)),

    /** Addresses or networks (`10.0.0.0/8`). `none` is an empty list; undefined if the variable is missing. */
    networks(name: string): readonly string[] | undefined {
      const value = raw(name)?.trim()
      if (value === 'none') return []
      const networks = split(value)
      if (networks.length === 0) return undefined
      const wrong = networks.find((network) => !isNetwork(network))
      if (wrong !== undefined) report(name, `${JSON.stringify(wrong)} is neither an address nor a network`)
      return networks
    },

    /** Signing keys, newest first. */
    keys(name: string, meaning: string): readonly string[] {
      const value = required(name, meaning)
      const keys = split(value)
      if (value !== undefined && keys.length === 0) report(name, 'holds no key')
      if (keys.some((key) => key.length < 32)) report(name, 'every key must have at least 32 characters')
      return keys
    }
  }
}

function isNetwork(text: string): boolean {
  // A prefix of 0 would trust every address.
  const [, address = '', prefix = '1'] = /^([^/%]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? []
  const family = isIP(address)
  // An IPv4 address written as IPv6 is accepted, but not a network, whose prefix would have another meaning.
  if (family === 6 && isIP(ipAddress(address) ?? '') === 4) return prefix === '1'
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128)
}
