import { findMatchingSecret, type TokenHash } from '@valetkey/oauth-protocol'
import { withTimeLimit } from '@valetkey/service-kit'
import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import type { EventStream } from './event-stream.js'

/** The credential that opened a stream, with the hash of the presented secret. */
export type Credential = { clientId: string; audience: string; secretHash: TokenHash }

export type Subscriber = { stream: EventStream; credential: Credential }

const READ_LIMIT_MS = 1_000

/**
 * @returns a function that reads the registered credentials from Postgres and ends each stream whose credential was
 *   deleted, or now has another secret or audience. If Postgres does not respond, it ends every stream; each guard then
 *   connects and authenticates again.
 */
export function createCredentialCheck({
  list,
  subscribers,
  end
}: {
  list: ResourceServerStore['list']
  subscribers: ReadonlyMap<string, Subscriber>
  end(id: string): void
}): () => Promise<void> {
  let isChecking = false
  let isDue = false
  return async () => {
    isDue = true
    // The running check may have read before the change, so it repeats.
    if (isChecking) return
    isChecking = true
    while (isDue) {
      isDue = false
      // Streams that open meanwhile are not checked: their credentials may be newer than what is read.
      const open = [...subscribers]
      if (open.length === 0) continue
      const registered = await withTimeLimit(READ_LIMIT_MS, list(), () => undefined).catch(() => undefined)
      for (const [id, { credential }] of open) {
        if (registered === undefined || !isRegistered(credential, registered)) end(id)
      }
    }
    isChecking = false
  }
}

function isRegistered(
  { clientId, audience, secretHash }: Credential,
  registered: Awaited<ReturnType<ResourceServerStore['list']>>
): boolean {
  const found = registered.find(({ resourceServer }) => resourceServer.clientId === clientId)
  if (found === undefined || found.resourceServer.audience !== audience) return false
  return findMatchingSecret([secretHash], [found.secretHash], 1) !== undefined
}
