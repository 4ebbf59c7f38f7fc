import type { Client, Clients } from './client-file.js'
import type { Exchange, Http, Received, Sent } from './http.js'
import type { Metadata } from './metadata.js'
import { type Need, NotApplicable, type Profile } from './outcome.js'
import type { SignIn } from './sign-in.js'

/** `identifier` is sent as `resource` (RFC 8707); `endpoint` is a URL that responds with 401 without a token. */
export type Resource = { identifier: string; endpoint: string }

/** What the caller gave, and what all checks of a run share. */
export type RunSettings = {
  issuer: string
  profile: Profile
  http: Http
  metadata: Metadata
  clients: Clients | undefined
  signIn: SignIn | undefined
  resource: Resource | undefined
}

/** What one check works with. */
export type Session = {
  issuer: string
  profile: Profile
  metadata: Metadata
  signIn: SignIn | undefined
  /** Undefined if the caller gave none. */
  resource: Resource | undefined
  /** @throws NotApplicable without --client */
  client(): Client
  otherClient(): Client
  send(request: Sent): Promise<Received>
  /** Hides values in every report. */
  remember(...secrets: readonly string[]): void
  /** Makes a result once in a run, so that several checks can evaluate it. */
  once<Result>(name: string, make: () => Promise<Result>): Promise<Result>
}

type Shared = Map<string, Promise<{ result: unknown; exchanges: readonly Exchange[] }>>

/** @returns for each check, a session that records the requests of this check */
export function createSessions(run: RunSettings, secrets: Set<string>) {
  const shared: Shared = new Map()
  for (const client of [run.clients?.client, run.clients?.otherClient]) {
    if (client?.secret !== undefined) secrets.add(client.secret)
  }
  return (record: Exchange[]): Session => ({
    issuer: run.issuer,
    profile: run.profile,
    metadata: run.metadata,
    signIn: run.signIn,
    resource: run.resource,
    client: () => run.clients?.client ?? missing('client'),
    otherClient: () => run.clients?.otherClient ?? missing('other client'),
    send: (request) => run.http(request, record),
    remember(...values) {
      for (const value of values) if (value !== '') secrets.add(value)
    },
    once: (name, make) => useShared(shared, record, name, make)
  })
}

async function useShared<Result>(shared: Shared, record: Exchange[], name: string, make: () => Promise<Result>) {
  const known = shared.get(name)
  if (known !== undefined) {
    const { result, exchanges } = await known
    record.push(...exchanges)
    return result as Result
  }
  const first = record.length
  const made = make().then((result) => ({ result, exchanges: record.slice(first) }))
  shared.set(name, made)
  return (await made).result
}

const OPTIONS: Record<Need, string> = {
  client: '--client FILE',
  secret: 'a client with client_secret',
  'other client': 'other_client in the file of --client',
  'sign-in': '--sign-in',
  resource: '--resource URI'
}

/** @returns what the caller did not give; undefined if the check can run */
export function missingNeed(needs: readonly Need[], run: RunSettings): string | undefined {
  const given: Record<Need, boolean> = {
    client: run.clients !== undefined,
    secret: run.clients?.client.secret !== undefined,
    'other client': run.clients?.otherClient !== undefined,
    'sign-in': run.signIn !== undefined,
    resource: run.resource !== undefined
  }
  const lacking = needs.filter((need) => !given[need])
  return lacking.length === 0 ? undefined : `needs ${lacking.map((need) => OPTIONS[need]).join(' and ')}`
}

function missing(need: Need): never {
  throw new NotApplicable(`needs ${OPTIONS[need]}`)
}
