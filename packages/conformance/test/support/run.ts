import { createUrlRule } from '../../src/allowed-url.js'
import type { Check } from '../../src/check.js'
import { checks } from '../../src/checks/checks.js'
import type { Client, Clients } from '../../src/client-file.js'
import { createHttp } from '../../src/http.js'
import { readMetadata } from '../../src/metadata.js'
import type { Profile } from '../../src/outcome.js'
import { runChecks } from '../../src/run-checks.js'
import { APP, NATIVE, OTHER, PUBLIC, SCOPE } from './broken-apps.js'
import { signInToBrokenServer, startBrokenServer } from './broken-server.js'
import type { Fault } from './faults.js'

const TIME_LIMIT_MS = 120_000

function clientOf({ id, secret, redirectUri }: typeof APP | typeof PUBLIC | typeof NATIVE): Client {
  const method = secret === undefined ? 'none' : 'client_secret_basic'
  return { id, secret, method, redirectUri, scope: SCOPE }
}

export const confidential: Clients = { client: clientOf(APP), otherClient: clientOf(OTHER) }
export const asNative: Clients = { client: clientOf(NATIVE), otherClient: clientOf(OTHER) }
export const asPublic: Clients = { client: clientOf(PUBLIC), otherClient: clientOf(OTHER) }

/** All checks; those of fapi2 alone only for a server under that profile. */
export function checksOf(profile: Profile = 'oauth2.1'): readonly Check[] {
  return checks.filter(({ profiles }) => profile === 'fapi2' || profiles.some((name) => name !== 'fapi2'))
}

/** Runs checks against a server with a fault, or without one. */
export async function runAgainst(options: {
  fault?: Fault
  only?: readonly string[]
  profile?: Profile
  clients?: Clients | undefined
  /** False: the run has no sign-in. Default true. */
  signsIn?: boolean
  expectedFailures?: readonly string[]
}) {
  const server = await startBrokenServer(options.fault, options.profile === 'fapi2')
  try {
    const { issuer, resource } = server
    const refuse = createUrlRule([new URL(issuer)], [])
    const http = createHttp({ refuse, rate: 1000, timeLimitMs: TIME_LIMIT_MS })
    const clients = 'clients' in options ? options.clients : confidential
    const run = {
      issuer,
      profile: options.profile ?? 'oauth2.1',
      http,
      clients,
      metadata: await readMetadata(issuer, http, []),
      signIn: options.signsIn === false ? undefined : signInToBrokenServer,
      resource: { identifier: resource, endpoint: resource }
    }
    const selected = checksOf(options.profile).filter(({ id }) => options.only?.includes(id) ?? true)
    return await runChecks(selected, run, new Set(options.expectedFailures))
  } finally {
    await server.close()
  }
}
