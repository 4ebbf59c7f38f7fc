import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { isLoopback, secureProblem } from './allowed-url.js'
import type { Check } from './check.js'
import { type Clients, readClientFile } from './client-file.js'
import { PROFILES, type Profile } from './outcome.js'
import type { Resource } from './session.js'

const FORMATS = ['tap', 'junit', 'json'] as const

export type Options = {
  issuer: string
  profile: Profile
  format: (typeof FORMATS)[number]
  clients: Clients | undefined
  /** A program, or `manual`. */
  signIn: string | undefined
  resource: Resource | undefined
  selected: readonly Check[]
  expectedFailures: ReadonlySet<string>
  allowedHosts: readonly string[]
  /** Requests a second. */
  rate: number
  timeLimitMs: number
}

/** The caller used the command wrongly; the message says how. */
export class UsageError extends Error {}

const TEXT = { type: 'string' } as const
const TEXTS = { type: 'string', multiple: true } as const
const FLAG = { type: 'boolean' } as const
const KINDS = {
  profile: { ...TEXT, default: 'oauth2.1' },
  format: { ...TEXT, default: 'tap' },
  client: TEXT,
  'sign-in': TEXT,
  resource: TEXT,
  endpoint: TEXT,
  only: TEXTS,
  skip: TEXTS,
  'expected-failures': TEXT,
  'allow-host': TEXTS,
  'yes-this-is-mine': FLAG,
  rate: { ...TEXT, default: '10' },
  timeout: { ...TEXT, default: '10' },
  list: FLAG,
  help: { ...FLAG, short: 'h' }
} as const

export type Request = { kind: 'help' } | { kind: 'list'; profile: Profile } | { kind: 'run'; options: Options }

/** @throws UsageError */
export function parseOptions(args: readonly string[], checks: readonly Check[]): Request {
  const { values, positionals } = parse(args)
  if (values.help) return { kind: 'help' }
  const profile = oneOf(PROFILES, values.profile, '--profile')
  if (values.list) return { kind: 'list', profile }
  const [issuer, ...more] = positionals
  if (issuer === undefined || more.length > 0) throw new UsageError('give one URL: the issuer')
  const resource = resourceOf(values.resource, values.endpoint)
  const allowedHosts = values['allow-host'] ?? []
  const urls = [
    parseUrl(issuer, 'the issuer'),
    ...(resource ? [resource.identifier, resource.endpoint] : []).map((url) => new URL(url))
  ]
  expectOwner(urls, allowedHosts, values['yes-this-is-mine'] === true)
  return {
    kind: 'run',
    options: {
      issuer,
      profile,
      format: oneOf(FORMATS, values.format, '--format'),
      resource,
      allowedHosts,
      clients: values.client === undefined ? undefined : orUsage(() => readClientFile(values.client ?? '')),
      signIn: values['sign-in'],
      selected: select(checks, profile, values.only, values.skip),
      expectedFailures: readExpectedFailures(values['expected-failures'], checks),
      rate: numberOf(values.rate, '--rate', 1000),
      timeLimitMs: Math.ceil(numberOf(values.timeout, '--timeout', 300) * 1000)
    }
  }
}

function parse(args: readonly string[]) {
  return orUsage(() => parseArgs({ args: [...args], options: KINDS, allowPositionals: true, strict: true }))
}

function orUsage<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Checks send dozens of wrong requests, so they need the consent of the server's owner. */
function expectOwner(urls: readonly URL[], hosts: readonly string[], isOwner: boolean): void {
  const foreign = [...urls.filter((url) => !isLoopback(url)).map(({ hostname }) => hostname), ...hosts]
  if (foreign.length === 0 || isOwner) return
  throw new UsageError(
    `${foreign[0]} is not loopback; test only servers of your own, and say so with --yes-this-is-mine`
  )
}

function resourceOf(identifier: string | undefined, endpoint = identifier): Resource | undefined {
  if (identifier === undefined || endpoint === undefined) {
    if (endpoint !== undefined) throw new UsageError('--endpoint needs --resource')
    return undefined
  }
  parseUrl(identifier, '--resource')
  return { identifier, endpoint: parseUrl(endpoint, '--endpoint').href }
}

function parseUrl(text: string, name: string): URL {
  if (!URL.canParse(text)) throw new UsageError(`${name} is not a URL: ${text}`)
  const url = new URL(text)
  const problem = secureProblem(url)
  if (problem !== undefined) throw new UsageError(problem)
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new UsageError(`${name} must have no user, password or fragment`)
  }
  return url
}

function select(
  checks: readonly Check[],
  profile: Profile,
  only: readonly string[] = [],
  skip: readonly string[] = []
) {
  expectKnown([...only, ...skip], checks)
  const selected = checks.filter(({ id, profiles }) => {
    if (skip.includes(id)) return false
    return only.length > 0 ? only.includes(id) : profiles.includes(profile)
  })
  if (selected.length === 0) throw new UsageError('no check is left')
  return selected
}

/** One id a line; `#` begins a comment. */
function readExpectedFailures(file: string | undefined, checks: readonly Check[]): ReadonlySet<string> {
  if (file === undefined) return new Set()
  const lines = orUsage(() => new TextDecoder().decode(readFileSync(file))).split('\n')
  const ids = lines.map((line) => line.replace(/#.*/, '').trim()).filter((id) => id !== '')
  expectKnown(ids, checks)
  return new Set(ids)
}

function expectKnown(ids: readonly string[], checks: readonly Check[]): void {
  const unknown = ids.filter((id) => !checks.some((check) => check.id === id))
  if (unknown.length > 0) throw new UsageError(`no such check: ${unknown.join(', ')} (--list shows all)`)
}

function oneOf<Value extends string>(values: readonly Value[], text: string, name: string): Value {
  return values.find((value) => value === text) ?? usage(`${name} must be one of ${values.join(', ')}`)
}

function numberOf(text: string, name: string, max: number): number {
  const value = Number(text)
  return value > 0 && value <= max ? value : usage(`${name} must be a number up to ${max}`)
}

function usage(message: string): never {
  throw new UsageError(message)
}
